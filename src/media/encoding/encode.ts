import { ParleyError } from '../../core/errors.ts';
import type { AudioFormat } from '../../core/ports/engines.ts';
import { encodeOnThread } from './encode-on-thread.ts';
import { passesThrough, passThrough } from './encode-pass-through.ts';
import type { PcmSource } from './encode-source.ts';
import { EncoderThread } from './encode-thread.ts';

export type { PcmSource } from './encode-source.ts';

const sampleRateMin = 8000;
const sampleRateMax = 48_000;

/** Turns speech into files as it is made. The work is done on threads, which start when they are first needed. */
export interface EncoderPool {
  /**
   * The file, in pieces as they are complete; to be iterated once. `mp3`, `opus`, `flac` and `wav` keep the source's
   * rate where the format has it; `pcm` is always 16-bit little-endian mono at 24 kHz, without a header.
   *
   * Nothing is read from the source until the result is read. An early end or an abort lets go of the source and the
   * encoder at once. Fails with the source's error; `request_cancelled`, or the signal's reason where that is a
   * ParleyError; `internal_error` where the encoder or its thread fails; `overloaded` where the pool was closed.
   * Throws `internal_error` where the source's rate is not a whole number from 8,000 to 48,000.
   */
  encode(format: AudioFormat, source: PcmSource, signal: AbortSignal): AsyncIterable<Uint8Array>;
  /** Starts a thread where none is free and loads the format's codec, so that the first stream need not wait for them. */
  warm(format: AudioFormat): Promise<void>;
  /** Ends the threads. What is still being encoded fails with `overloaded`. */
  close(): Promise<void>;
}

/** `threads` is the most that run at a time, at least 1. Each serves many streams. */
export function createEncoderPool(options: { readonly threads: number }): EncoderPool {
  return new ThreadPool(options.threads);
}

class ThreadPool implements EncoderPool {
  readonly #threadsMax: number;
  readonly #threads = new Set<EncoderThread>();
  #isClosed = false;

  constructor(threadsMax: number) {
    if (!Number.isInteger(threadsMax) || threadsMax < 1)
      throw new RangeError('threads is a whole number from 1');
    this.#threadsMax = threadsMax;
  }

  encode(format: AudioFormat, source: PcmSource, signal: AbortSignal): AsyncIterable<Uint8Array> {
    const { sampleRate } = source;
    if (!Number.isInteger(sampleRate) || sampleRate < sampleRateMin || sampleRate > sampleRateMax) {
      throw new ParleyError('internal_error', { cause: new RangeError(`a sample rate of ${sampleRate} Hz`) });
    }
    if (passesThrough(format, sampleRate)) return passThrough(format, source, signal);
    return encodeOnThread(() => this.#leastLoaded().open(format, sampleRate), source, signal);
  }

  async warm(format: AudioFormat): Promise<void> {
    const sampleRate = sampleRateMin;
    if (passesThrough(format, sampleRate)) return;
    const encoder = this.#leastLoaded().open(format, sampleRate);
    try {
      await encoder.finish(new Int16Array(sampleRate));
    } finally {
      encoder.close();
    }
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await Promise.all(Array.from(this.#threads, (thread) => thread.close()));
  }

  #leastLoaded(): EncoderThread {
    if (this.#isClosed) throw new ParleyError('overloaded');
    const [thread] = Array.from(this.#threads).sort((a, b) => a.load - b.load);
    const canStart = this.#threads.size < this.#threadsMax;
    return thread !== undefined && (thread.load === 0 || !canStart) ? thread : this.#start();
  }

  #start(): EncoderThread {
    const thread = new EncoderThread(() => this.#threads.delete(thread));
    this.#threads.add(thread);
    return thread;
  }
}
