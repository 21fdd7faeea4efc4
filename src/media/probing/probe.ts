import { Worker } from 'node:worker_threads';
import { siblingWorker } from '../../threads/sibling.ts';
import type { MediaContainer } from './file-format.ts';
import type { ProbeJob } from './probe-worker.ts';

/** A good file takes some milliseconds. */
const runMsMax = 2_000;
/** In the line and at work together, so that hostile files delay a good one by no more. */
const totalMsMax = 5_000;
const heapMegabytesMax = 128;

export interface DurationProbe {
  /**
   * Milliseconds of audio, more than 0 and at most a day, as the container tells them without decoding; undefined where they
   * cannot be told within seconds. Never rejects.
   */
  durationMs(bytes: Uint8Array, container: MediaContainer): Promise<number | undefined>;
  close(): Promise<void>;
}

interface Probe {
  readonly job: ProbeJob;
  /** Gives the result, once. */
  finish(durationMs?: number): void;
}

/**
 * Probes files one after the other in a thread, which starts with the first of them. A file that keeps it busy ends it; the
 * next gets a new one.
 */
export function createDurationProbe(): DurationProbe {
  return new ThreadProbe();
}

class ThreadProbe implements DurationProbe {
  readonly #line = new Set<Probe>();
  #worker: Worker | undefined;
  #current: Probe | undefined;
  #timer: NodeJS.Timeout | undefined;
  #closed = false;

  durationMs(bytes: Uint8Array, container: MediaContainer): Promise<number | undefined> {
    if (this.#closed) return Promise.resolve(undefined);
    return new Promise((resolve) => {
      const timer = setTimeout(() => probe.finish(), totalMsMax);
      const probe: Probe = {
        job: { bytes, container },
        finish: (durationMs) => {
          clearTimeout(timer);
          this.#line.delete(probe);
          resolve(durationMs);
        },
      };
      this.#line.add(probe);
      this.#next();
    });
  }

  async close(): Promise<void> {
    this.#closed = true;
    for (const probe of this.#line) probe.finish();
    this.#current?.finish();
    await this.#drop();
  }

  #next(): void {
    if (this.#current !== undefined) return;
    const [probe] = this.#line;
    if (probe === undefined) {
      this.#worker?.unref();
      return;
    }
    this.#line.delete(probe);
    this.#current = probe;
    this.#worker ??= this.#start();
    this.#worker.ref();
    this.#timer = setTimeout(() => this.#lost(this.#worker), runMsMax);
    this.#worker.postMessage(probe.job);
  }

  #start(): Worker {
    const worker = new Worker(siblingWorker(import.meta.url, 'probe-worker'), {
      resourceLimits: { maxOldGenerationSizeMb: heapMegabytesMax },
    });
    worker.on('message', (durationMs: number | undefined) => {
      if (worker === this.#worker) this.#finish(durationMs);
    });
    worker.on('error', () => this.#lost(worker));
    worker.on('exit', () => this.#lost(worker));
    return worker;
  }

  #finish(durationMs?: number): void {
    clearTimeout(this.#timer);
    this.#current?.finish(durationMs);
    this.#current = undefined;
    this.#next();
  }

  /** The length of the file that it was at stays unknown. */
  #lost(worker: Worker | undefined): void {
    if (worker === undefined || worker !== this.#worker) return;
    void this.#drop();
    this.#finish();
  }

  async #drop(): Promise<void> {
    const worker = this.#worker;
    this.#worker = undefined;
    clearTimeout(this.#timer);
    await worker?.terminate();
  }
}
