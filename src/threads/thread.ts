import { parse } from 'node:path';
import { Worker } from 'node:worker_threads';
import { ParleyError } from '../core/values/errors.ts';

export type ToThread<Task> =
  | { readonly kind: 'run'; readonly id: number; readonly session: number; readonly task: Task }
  | { readonly kind: 'close'; readonly session: number };

export type FromThread<Result> =
  | { readonly id: number; readonly result: Result }
  | { readonly id: number; readonly failure: string };

export interface ThreadOptions {
  /** The worker's entry, from `siblingWorker`. It calls `serveTasks`. */
  readonly entry: URL;
  /** CPU time limit of a task. A task above it fails, and its thread ends. No limit by default. */
  readonly taskCpuMsMax?: number | undefined;
  /** Whether closing a session while it runs a task ends the thread. */
  readonly abortEndsThread?: boolean | undefined;
  /** A thread without tasks and sessions ends after this time. */
  readonly idleMs: number;
}

/** Tasks that share state, which the thread keeps until the session is closed. */
export interface Session<Task, Result> {
  /** Rejects with `internal_error` if the task fails or the thread dies. */
  run(task: Task, transfer?: readonly ArrayBuffer[]): Promise<Result>;
  close(): void;
}

interface RunningTask<Result> {
  readonly session: number;
  readonly resolve: (result: Result) => void;
  readonly reject: (error: ParleyError) => void;
  timer?: NodeJS.Timeout;
}

/** A task that runs this many times longer than its CPU time limit hangs, without using the CPU. */
const hangFactor = 10;

/** A worker thread. Keeps the process alive only while it runs a task. */
export class PoolThread<Task, Result> {
  readonly #worker: Worker;
  readonly #options: ThreadOptions;
  readonly #onEnd: () => void;
  readonly #tasks = new Map<number, RunningTask<Result>>();
  readonly #sessions = new Set<number>();
  #lastId = 0;
  #idleTimer: NodeJS.Timeout | undefined;
  #failure: ParleyError | undefined;

  /** Starts the thread. Calls `onEnd` once, as soon as the thread accepts no more tasks. */
  constructor(options: ThreadOptions, onEnd: () => void) {
    this.#options = options;
    this.#onEnd = onEnd;
    this.#worker = new Worker(options.entry, { name: parse(options.entry.pathname).name });
    this.#worker.unref();
    this.#worker.on('message', (answer: FromThread<Result>) => this.#finish(answer));
    this.#worker.on('messageerror', (cause) => void this.end(internal(cause)));
    this.#worker.on('error', (cause) => void this.end(internal(cause)));
    this.#worker.on('exit', (code) => void this.end(internal(new Error(`the thread ended with ${code}`))));
  }

  /** Running tasks and open sessions. */
  get load(): number {
    return this.#tasks.size + this.#sessions.size;
  }

  run(task: Task, transfer: readonly ArrayBuffer[] = [], session = 0): Promise<Result> {
    if (this.#failure !== undefined) return Promise.reject(this.#failure);
    this.#lastId++;
    const id = this.#lastId;
    const { promise, resolve, reject } = Promise.withResolvers<Result>();
    const running: RunningTask<Result> = { session, resolve, reject };
    this.#tasks.set(id, running);
    this.#limit(running);
    this.#busyOrIdle();
    this.#worker.postMessage({ kind: 'run', id, session, task } satisfies ToThread<Task>, transfer);
    return promise;
  }

  openSession(): Session<Task, Result> {
    this.#lastId++;
    const session = this.#lastId;
    this.#sessions.add(session);
    this.#busyOrIdle();
    return {
      run: (task, transfer) => this.run(task, transfer, session),
      close: () => {
        if (!this.#sessions.delete(session)) return;
        if (this.#options.abortEndsThread === true && this.#runsTaskOf(session)) {
          void this.end(new ParleyError('request_cancelled'));
          return;
        }
        this.#worker.postMessage({ kind: 'close', session } satisfies ToThread<Task>);
        this.#busyOrIdle();
      },
    };
  }

  /** Ends the thread. Its tasks fail with `failure`, now and later. Resolves once the thread has ended. */
  async end(failure: ParleyError): Promise<void> {
    if (this.#failure === undefined) {
      this.#failure = failure;
      clearTimeout(this.#idleTimer);
      this.#onEnd();
      for (const { reject, timer } of this.#tasks.values()) {
        clearTimeout(timer);
        reject(failure);
      }
      this.#tasks.clear();
      this.#sessions.clear();
    }
    await this.#worker.terminate();
  }

  #runsTaskOf(session: number): boolean {
    return Array.from(this.#tasks.values()).some((task) => task.session === session);
  }

  /** Ends the thread when the task has used its CPU time. On a busy machine that takes longer by the clock. */
  #limit(task: RunningTask<Result>): void {
    const { taskCpuMsMax: msMax } = this.#options;
    if (msMax === undefined) return;
    const startedMs = performance.now();
    const cpuAtStart = this.#cpuMs();
    const check = async () => {
      const usedMs = (await this.#cpuMs()) - (await cpuAtStart);
      // The task may have ended while its CPU time was read.
      if (!Array.from(this.#tasks.values()).includes(task)) return;
      const isOver = usedMs >= msMax || performance.now() - startedMs >= hangFactor * msMax;
      if (isOver) await this.end(internal(new Error(`the task took longer than ${msMax} ms of CPU time`)));
      else task.timer = setTimeout(check, msMax - usedMs);
    };
    task.timer = setTimeout(check, msMax);
  }

  /** CPU time of the thread in milliseconds. None while it starts, which can take seconds on a busy machine. */
  async #cpuMs(): Promise<number> {
    const { user, system } = await this.#worker.cpuUsage().catch(() => ({ user: 0, system: 0 }));
    return (user + system) / 1000;
  }

  #finish(answer: FromThread<Result>): void {
    const task = this.#tasks.get(answer.id);
    if (task === undefined) return;
    this.#tasks.delete(answer.id);
    clearTimeout(task.timer);
    this.#busyOrIdle();
    if ('failure' in answer) task.reject(internal(new Error(answer.failure)));
    else task.resolve(answer.result);
  }

  #busyOrIdle(): void {
    clearTimeout(this.#idleTimer);
    if (this.#tasks.size > 0) this.#worker.ref();
    else this.#worker.unref();
    if (this.load > 0) return;
    const idle = new ParleyError('internal_error', { cause: new Error('the idle thread was ended') });
    this.#idleTimer = setTimeout(() => void this.end(idle), this.#options.idleMs).unref();
  }
}

function internal(cause: unknown): ParleyError {
  return new ParleyError('internal_error', { cause });
}
