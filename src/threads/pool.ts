import { ParleyError } from '../core/values/errors.ts';
import type { Signal } from '../core/values/signal.ts';
import { FairQueue, type Place } from './fair-queue.ts';
import { PoolThread, type Session, type ThreadOptions } from './thread.ts';

export type { Session } from './thread.ts';

export interface ThreadPoolOptions {
  /** The worker's entry, from `siblingWorker`. It calls `serveTasks`. */
  readonly entry: URL;
  /** Maximum number of threads, 1 or more. Each starts when there is work for it. */
  readonly threads: number;
  /** CPU time limit of a task. A task above it fails, and its thread ends. No limit by default. */
  readonly taskCpuMsMax?: number;
  /** Maximum number of groups whose first task waits for a thread; half as many for one owner. No limit by default. */
  readonly waitingMax?: number;
  /** Maximum number of open groups; half as many for one owner. No limit by default. */
  readonly openMax?: number;
  /**
   * Whether the abort of a group, or the close of a session, ends the thread that runs its task. By default the task
   * continues, and its result is dropped.
   */
  readonly abortEndsThread?: boolean;
  /** A thread without work ends after this time, which frees its memory. Default 20,000. */
  readonly idleMs?: number;
}

/** The tasks of one request. */
export interface TaskGroup<Task, Result> {
  /** Rejects with `internal_error` if the task fails or its thread dies, and `request_cancelled` after the group was left. */
  run(task: Task, transfer?: readonly ArrayBuffer[]): Promise<Result>;
  /** Cancels the tasks that have not ended, and frees the group's place in the queue. */
  leave(): void;
}

export interface GroupOptions {
  /** Default: the signal's. Groups without an owner count as one owner, and may take all places. */
  readonly owner?: string | undefined;
  /** Whether the group enters even if too many wait. Default: false. */
  readonly isOwed?: boolean;
}

/** Worker threads that run tasks of one kind. A thread that dies fails its own tasks only, and is replaced when needed. */
export interface ThreadPool<Task, Result> {
  /** Number of groups whose first task waits for a thread. */
  readonly waiting: number;
  /**
   * Opens a group. Each thread runs one task at a time, and groups share the threads fairly (`FairQueue`). An
   * abort leaves the group.
   * @throws `overloaded` if too many groups wait or are open, or the pool is closed
   */
  enter(signal?: Signal, options?: GroupOptions): TaskGroup<Task, Result>;
  /**
   * Opens a session on the thread with the least load. Its tasks start at once.
   * @throws `overloaded` once the pool is closed
   */
  openSession(): Session<Task, Result>;
  /** Ends the threads. Unfinished tasks fail with `overloaded`. */
  close(): Promise<void>;
}

export function createThreadPool<Task, Result>(options: ThreadPoolOptions): ThreadPool<Task, Result> {
  return new Pool(options);
}

const idleMsDefault = 20_000;

/** The places that one account may take, so that some remain for others. */
export function shareOf(places: number): number {
  return Math.ceil(places / 2);
}

/** A refused client may try again after this time, within which the queue of a busy server moves on. */
const retryAfterSeconds = 2;

interface Job<Task, Result> {
  readonly task: Task;
  readonly transfer: readonly ArrayBuffer[] | undefined;
  readonly resolve: (result: Result) => void;
  readonly reject: (error: unknown) => void;
  thread: PoolThread<Task, Result> | undefined;
}

class Pool<Task, Result> implements ThreadPool<Task, Result> {
  readonly #options: ThreadPoolOptions;
  readonly #threadOptions: ThreadOptions;
  readonly #threads = new Set<PoolThread<Task, Result>>();
  readonly #queue = new FairQueue<Job<Task, Result>>();
  readonly #groups = new Set<Group<Task, Result>>();
  #closed = false;

  constructor(options: ThreadPoolOptions) {
    if (!Number.isInteger(options.threads) || options.threads < 1) {
      throw new RangeError('threads must be a whole number from 1');
    }
    this.#options = options;
    this.#threadOptions = { ...options, idleMs: options.idleMs ?? idleMsDefault };
  }

  get waiting(): number {
    return this.#queue.waiting;
  }

  enter(
    signal?: Signal,
    { owner = signal?.owner, isOwed = false }: GroupOptions = {},
  ): TaskGroup<Task, Result> {
    if (this.#closed || (!isOwed && this.#isFullFor(owner))) {
      throw new ParleyError('overloaded', { retryAfterSeconds, hasNotRun: true });
    }
    const group = new Group(this.#queue.enter(owner), () => this.#runQueued());
    this.#groups.add(group);
    const abort = () => {
      for (const thread of this.#leave(group, signal?.reason)) {
        if (this.#options.abortEndsThread === true) void thread.end(cancelled(signal?.reason));
      }
    };
    signal?.addEventListener('abort', abort, { once: true });
    if (signal?.aborted) abort();
    return {
      run: (task, transfer) => group.run(task, transfer),
      leave: () => {
        signal?.removeEventListener('abort', abort);
        this.#leave(group);
      },
    };
  }

  openSession(): Session<Task, Result> {
    if (this.#closed) throw new ParleyError('overloaded', { retryAfterSeconds });
    return this.#leastLoaded().openSession();
  }

  async close(): Promise<void> {
    this.#closed = true;
    const failure = new ParleyError('overloaded', { retryAfterSeconds });
    for (const group of this.#groups) group.cancel(failure);
    this.#groups.clear();
    await Promise.all(Array.from(this.#threads, (thread) => thread.end(failure)));
  }

  #isFullFor(owner: string | undefined): boolean {
    const { waitingMax = Number.POSITIVE_INFINITY, openMax = Number.POSITIVE_INFINITY } = this.#options;
    if (this.waiting >= waitingMax || this.#queue.size >= openMax) return true;
    if (owner === undefined) return false;
    const { waiting, size } = this.#queue.of(owner);
    return waiting >= shareOf(waitingMax) || size >= shareOf(openMax);
  }

  /** Returns the threads that run a task of the group. */
  #leave(group: Group<Task, Result>, reason?: unknown): PoolThread<Task, Result>[] {
    this.#groups.delete(group);
    return group.cancel(cancelled(reason));
  }

  #runQueued(): void {
    while (!this.#closed && this.#hasFreeThread()) {
      const job = this.#queue.take();
      if (job === undefined) return;
      job.thread = this.#leastLoaded();
      job.thread
        .run(job.task, job.transfer)
        .then(job.resolve, job.reject)
        .finally(() => this.#runQueued());
    }
  }

  #hasFreeThread(): boolean {
    if (this.#threads.size < this.#options.threads) return true;
    return Array.from(this.#threads).some(({ load }) => load === 0);
  }

  #leastLoaded(): PoolThread<Task, Result> {
    const [thread] = Array.from(this.#threads).sort((a, b) => a.load - b.load);
    const canStart = this.#threads.size < this.#options.threads;
    if (thread !== undefined && (thread.load === 0 || !canStart)) return thread;
    const started = new PoolThread<Task, Result>(this.#threadOptions, () => this.#threads.delete(started));
    this.#threads.add(started);
    return started;
  }
}

class Group<Task, Result> {
  readonly #place: Place<Job<Task, Result>>;
  readonly #onQueued: () => void;
  readonly #unfinished = new Set<Job<Task, Result>>();
  #failure: ParleyError | undefined;

  constructor(place: Place<Job<Task, Result>>, onQueued: () => void) {
    this.#place = place;
    this.#onQueued = onQueued;
  }

  run(task: Task, transfer?: readonly ArrayBuffer[]): Promise<Result> {
    if (this.#failure !== undefined) return Promise.reject(this.#failure);
    const { promise, resolve, reject } = Promise.withResolvers<Result>();
    const job: Job<Task, Result> = { task, transfer, resolve, reject, thread: undefined };
    this.#unfinished.add(job);
    this.#place.add(job);
    this.#onQueued();
    return promise.finally(() => this.#unfinished.delete(job));
  }

  /** Fails all tasks that have not ended, and returns the threads that still run a task of the group. */
  cancel(failure: ParleyError): PoolThread<Task, Result>[] {
    this.#failure ??= failure;
    this.#place.leave();
    const jobs = Array.from(this.#unfinished);
    for (const job of jobs) job.reject(this.#failure);
    return jobs.flatMap(({ thread }) => thread ?? []);
  }
}

function cancelled(cause: unknown): ParleyError {
  return new ParleyError('request_cancelled', { cause });
}

/**
 * The URL of a worker-thread entry beside the calling module. The sources run as TypeScript under the tests and as
 * JavaScript once built, so the extension follows the caller's own.
 */
export function siblingWorker(callerUrl: string, name: string): URL {
  const extension = callerUrl.endsWith('.ts') ? '.ts' : '.js';
  return new URL(`./${name}${extension}`, callerUrl);
}
