import { ParleyError } from '../../../core/errors.ts';
import { siblingWorker } from '../../../threads/sibling.ts';
import { FairQueue, type Place } from './fair-queue.ts';
import { compileFlite, type FliteModule } from './module.ts';
import type { SpokenPiece } from './synthesis.ts';
import { FliteThread } from './thread.ts';

export interface FlitePoolOptions {
  /** Worker threads at most; each starts when there is work for it. */
  readonly threads: number;
  /** Requests whose first piece waits for a thread, at most. Default 64: some 3 s of waiting with two threads. */
  readonly requestsWaitingMax?: number;
  /** Requests being spoken, slow readers included, at most. Default 256; each holds up to some 2 MB of sound. */
  readonly requestsOpenMax?: number;
  /** What a piece may take. Default 10,000; a sentence takes 100 ms, the slowest gibberish 2 s on a busy machine. */
  readonly pieceTimeoutMs?: number;
  /** The worker's entry. Default the one beside this file. */
  readonly entry?: URL;
}

/** What one request says, piece by piece. */
export interface Speaker {
  /** Rejects with `internal_error` where this piece fails, and with `request_cancelled` once the speaker has left. */
  speak(piece: SpokenPiece): Promise<Int16Array>;
  /** Frees the place in the queue at once. */
  leave(): void;
}

export interface FlitePool {
  /** Requests whose first piece waits for a thread. */
  readonly waiting: number;
  /** Throws `overloaded` where too many requests wait or are open, or the pool is closed. */
  enter(): Speaker;
  /** Ends the threads. What is being said fails. */
  close(): Promise<void>;
}

export function createFlitePool(options: FlitePoolOptions): FlitePool {
  return new ThreadPool(options);
}

/** After this long a client that was turned away may try again: the queue of a busy server moves on within it. */
const retryAfterSeconds = 2;

interface Job {
  readonly piece: SpokenPiece;
  readonly resolve: (samples: Int16Array) => void;
  readonly reject: (error: ParleyError) => void;
}

/** A place for one thread, which is started when the lane first works and again after it died. */
interface Lane {
  thread: FliteThread | undefined;
  busy: boolean;
}

class ThreadPool implements FlitePool {
  readonly #entry: URL;
  readonly #requestsWaitingMax: number;
  readonly #requestsOpenMax: number;
  readonly #pieceTimeoutMs: number;
  readonly #lanes: readonly Lane[];
  readonly #queue = new FairQueue<Job>();
  readonly #open = new Set<QueuedSpeaker>();
  #module: Promise<FliteModule> | undefined;
  #closed = false;

  constructor(options: FlitePoolOptions) {
    this.#entry = options.entry ?? siblingWorker(import.meta.url, 'worker');
    this.#requestsWaitingMax = options.requestsWaitingMax ?? 64;
    this.#requestsOpenMax = options.requestsOpenMax ?? 256;
    this.#pieceTimeoutMs = options.pieceTimeoutMs ?? 10_000;
    this.#lanes = Array.from({ length: options.threads }, () => ({ thread: undefined, busy: false }));
  }

  get waiting(): number {
    return this.#queue.waiting;
  }

  enter(): Speaker {
    const full = this.waiting >= this.#requestsWaitingMax || this.#queue.size >= this.#requestsOpenMax;
    if (this.#closed || full) throw new ParleyError('overloaded', { retryAfterSeconds, hasNotRun: true });
    const speaker = new QueuedSpeaker(this.#queue.enter(), () => this.#wakeLane());
    this.#open.add(speaker);
    return {
      speak: (piece) => speaker.speak(piece),
      leave: () => {
        this.#open.delete(speaker);
        speaker.dismiss(new ParleyError('request_cancelled'));
      },
    };
  }

  async close(): Promise<void> {
    this.#closed = true;
    for (const speaker of this.#open) speaker.dismiss(new ParleyError('overloaded', { retryAfterSeconds }));
    await Promise.all(this.#lanes.map((lane) => lane.thread?.end()));
  }

  #wakeLane(): void {
    const idle = this.#lanes.filter((lane) => !lane.busy);
    const lane = idle.find((candidate) => candidate.thread !== undefined) ?? idle[0];
    if (lane !== undefined) void this.#work(lane);
  }

  /** Says what is queued until nothing is. It never rejects: each failure goes to its job. */
  async #work(lane: Lane): Promise<void> {
    lane.busy = true;
    for (let job = this.#queue.take(); job !== undefined; job = this.#queue.take()) {
      try {
        job.resolve(await this.#say(lane, job.piece));
      } catch (cause) {
        job.reject(new ParleyError('internal_error', { cause }));
      }
    }
    lane.busy = false;
  }

  async #say(lane: Lane, piece: SpokenPiece): Promise<Int16Array> {
    if (lane.thread?.alive !== true) lane.thread = await this.#startThread();
    return lane.thread.speak(piece, this.#pieceTimeoutMs);
  }

  async #startThread(): Promise<FliteThread> {
    this.#module ??= compileFlite();
    try {
      const module = await this.#module;
      if (this.#closed) throw new Error('the flite pool was closed');
      return new FliteThread(this.#entry, module);
    } catch (cause) {
      // A file that could not be read is tried again with the next piece.
      this.#module = undefined;
      throw cause;
    }
  }
}

/** The jobs of one request that are not done. */
class QueuedSpeaker {
  readonly #place: Place<Job>;
  readonly #wake: () => void;
  readonly #unfinished = new Set<Job>();
  #dismissal: ParleyError | undefined;

  constructor(place: Place<Job>, wake: () => void) {
    this.#place = place;
    this.#wake = wake;
  }

  speak(piece: SpokenPiece): Promise<Int16Array> {
    if (this.#dismissal !== undefined) return Promise.reject(this.#dismissal);
    const { promise, resolve, reject } = Promise.withResolvers<Int16Array>();
    const job: Job = { piece, resolve, reject };
    this.#unfinished.add(job);
    this.#place.add(job);
    this.#wake();
    return promise.finally(() => this.#unfinished.delete(job));
  }

  /**
   * Fails what is not said yet. A piece that is being said is left to end, unheard: what is left of it takes some
   * 50 ms, while ending its thread takes 10 ms and starting another 60 ms.
   */
  dismiss(reason: ParleyError): void {
    this.#dismissal ??= reason;
    this.#place.leave();
    for (const job of this.#unfinished) job.reject(this.#dismissal);
  }
}
