import { Worker } from 'node:worker_threads';
import type { FliteModule } from './module.ts';
import type { SpokenPiece } from './synthesis.ts';
import type { WorkerAnswer } from './worker.ts';

interface Task {
  readonly resolve: (samples: Int16Array) => void;
  readonly reject: (cause: unknown) => void;
  readonly timer: NodeJS.Timeout;
}

/** One worker thread. It says one piece at a time and keeps the process alive only while it does. */
export class FliteThread {
  readonly #worker: Worker;
  #task: Task | undefined;
  #alive = true;

  constructor(entry: URL, module: FliteModule) {
    this.#worker = new Worker(entry, { workerData: module });
    this.#worker.unref();
    this.#worker.on('message', (answer: WorkerAnswer) => this.#answered(answer));
    this.#worker.on('error', (error) => this.#lost(error));
    this.#worker.on('messageerror', (error) => this.#lost(error));
    this.#worker.on('exit', (code) => this.#lost(new Error(`the flite thread ended with ${code}`)));
  }

  /** False once the thread has crashed, was ended or took too long: it says nothing any more. */
  get alive(): boolean {
    return this.#alive;
  }

  /** Rejects with the cause where flite fails, the thread dies, or the piece takes longer than `timeoutMs`. */
  speak(piece: SpokenPiece, timeoutMs: number): Promise<Int16Array> {
    const { promise, resolve, reject } = Promise.withResolvers<Int16Array>();
    const timer = setTimeout(() => {
      this.#lost(new Error(`flite took longer than ${timeoutMs} ms for a piece`));
    }, timeoutMs);
    this.#task = { resolve, reject, timer };
    this.#worker.ref();
    this.#worker.postMessage(piece);
    return promise;
  }

  async end(): Promise<void> {
    this.#lost(new Error('the flite thread was ended'));
    await this.#worker.terminate();
  }

  #answered(answer: WorkerAnswer): void {
    const task = this.#finish();
    if ('samples' in answer) task?.resolve(answer.samples);
    else task?.reject(new Error(answer.failure));
  }

  #lost(cause: unknown): void {
    this.#alive = false;
    this.#finish()?.reject(cause);
    // A worker that crashed is gone already; one that hangs is ended here. Nobody waits for it, and it cannot fail.
    void this.#worker.terminate();
  }

  #finish(): Task | undefined {
    const task = this.#task;
    this.#task = undefined;
    if (task !== undefined) clearTimeout(task.timer);
    this.#worker.unref();
    return task;
  }
}
