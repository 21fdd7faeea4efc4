import { Worker } from 'node:worker_threads';
import { ParleyError } from '../../core/errors.ts';
import { siblingWorker } from '../../threads/sibling.ts';
import type { ComputedFormat } from '../encoders/open.ts';
import type { FromEncoderThread, ToEncoderThread } from './encode-messages.ts';

/** One file being encoded on a thread. One call at a time: each waits for the answer to the one before. */
export interface ThreadEncoder {
  /** Takes the samples' memory with it. Resolves with the bytes that are complete, which may be none. */
  encode(samples: Int16Array<ArrayBuffer>): Promise<Uint8Array>;
  /** As `encode` for the last samples, of which there may be none; with the end of the file. */
  finish(samples: Int16Array<ArrayBuffer>): Promise<Uint8Array>;
  /** Frees the encoder, at any time. A call still open is never answered. */
  close(): void;
}

interface PendingAnswer {
  resolve(bytes: Uint8Array): void;
  reject(error: ParleyError): void;
}

/** A worker thread and the streams it encodes. It starts at once and serves until it is closed or fails. */
export class EncoderThread {
  readonly #worker: Worker;
  readonly #onFailure: () => void;
  /** The open streams, each with the answer that it waits for, if any. */
  readonly #streams = new Map<number, PendingAnswer | undefined>();
  #lastStream = 0;
  #failure: ParleyError | undefined;

  /** `onFailure` is told once, when the thread takes no more streams. */
  constructor(onFailure: () => void) {
    this.#onFailure = onFailure;
    this.#worker = new Worker(siblingWorker(import.meta.url, 'encode-worker'), { name: 'encode' });
    this.#worker.on('message', (message: FromEncoderThread) => this.#settle(message));
    this.#worker.on('messageerror', (error) => void this.#crash(error));
    this.#worker.on('error', (error) => this.#fail(internal(error)));
    this.#worker.on('exit', (code) =>
      this.#fail(internal(new Error(`encoder thread ended with code ${code}`))),
    );
  }

  /** How many streams are open. */
  get load(): number {
    return this.#streams.size;
  }

  /** Failures, of the stream as of the thread, come out of the encoder's calls as `internal_error`. */
  open(format: ComputedFormat, sampleRate: number): ThreadEncoder {
    this.#lastStream += 1;
    const stream = this.#lastStream;
    this.#streams.set(stream, undefined);
    this.#post({ kind: 'open', stream, format, sampleRate });
    return {
      encode: (samples) => this.#encode(stream, samples, false),
      finish: (samples) => this.#encode(stream, samples, true),
      close: () => {
        if (this.#streams.delete(stream)) this.#post({ kind: 'close', stream });
      },
    };
  }

  /** Ends the thread. What is still open fails with `overloaded`, as the server is closing. */
  async close(): Promise<void> {
    this.#fail(new ParleyError('overloaded'));
    await this.#worker.terminate();
  }

  #encode(stream: number, samples: Int16Array<ArrayBuffer>, isLast: boolean): Promise<Uint8Array> {
    if (this.#failure !== undefined) return Promise.reject(this.#failure);
    return new Promise((resolve, reject) => {
      this.#streams.set(stream, { resolve, reject });
      this.#post({ kind: 'encode', stream, samples, isLast }, [samples.buffer]);
    });
  }

  #settle(message: FromEncoderThread): void {
    const pending = this.#streams.get(message.stream);
    if (pending === undefined) return; // closed while the answer was on its way
    this.#streams.set(message.stream, undefined);
    if (message.kind === 'encoded') pending.resolve(message.bytes);
    else pending.reject(internal(new Error(message.reason)));
  }

  async #crash(error: unknown): Promise<void> {
    this.#fail(internal(error));
    await this.#worker.terminate();
  }

  #fail(failure: ParleyError): void {
    if (this.#failure !== undefined) return;
    this.#failure = failure;
    this.#onFailure();
    for (const pending of this.#streams.values()) pending?.reject(failure);
    this.#streams.clear();
  }

  #post(message: ToEncoderThread, transfer: ArrayBuffer[] = []): void {
    this.#worker.postMessage(message, transfer);
  }
}

function internal(cause: unknown): ParleyError {
  return new ParleyError('internal_error', { cause });
}
