import { Worker } from 'node:worker_threads';
import { siblingWorker } from '../../../threads/pool.ts';
import type { Batch, BatchOutcome, WriterSettings } from './messages.ts';
import type { BatchExecutor } from './writer.ts';

/** Writes on a separate thread, so that the process never waits for the disk. */
export class WriterThread implements BatchExecutor {
  readonly #worker: Worker;
  readonly #ended: Promise<void>;
  #resolve: ((outcome: BatchOutcome) => void) | undefined;

  /** @param onLost called if the thread dies: whether its batch was written is unknown */
  constructor(settings: WriterSettings, onLost: (error: unknown) => void) {
    this.#worker = new Worker(siblingWorker(import.meta.url, 'writer-thread'), {
      workerData: settings,
      name: 'writer',
    });
    this.#worker.unref();
    this.#worker.on('message', (outcome: BatchOutcome) => {
      this.#worker.unref();
      this.#resolve?.(outcome);
    });
    this.#ended = new Promise((resolve) => {
      this.#worker.once('exit', (code) => {
        if (code !== 0) onLost(new Error(`The writer thread of the database has ended with ${code}.`));
        resolve();
      });
    });
    this.#worker.on('error', onLost);
  }

  run(batch: Batch): Promise<BatchOutcome> {
    // Keeps the process alive until its last write.
    this.#worker.ref();
    const outcome = new Promise<BatchOutcome>((resolve) => {
      this.#resolve = resolve;
    });
    this.#worker.postMessage(batch);
    return outcome;
  }

  async close(): Promise<void> {
    this.#worker.ref();
    this.#worker.postMessage('close');
    await this.#ended;
  }
}
