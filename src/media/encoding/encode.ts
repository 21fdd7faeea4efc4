import type { AudioFormat } from '../../core/entities/engine.ts';
import { ParleyError } from '../../core/values/errors.ts';
import type { Signal } from '../../core/values/signal.ts';
import { createThreadPool, type Session, siblingWorker } from '../../threads/pool.ts';
import type { OwnedBytes } from '../encoders/encoder.ts';
import type { ComputedFormat, EncodeTask } from './encode-worker.ts';
import { InterruptibleStream } from './interruptible-stream.ts';
import { passesThrough, passThrough } from './pass-through.ts';
import { PcmReader, PcmSlicer, type PcmSource } from './pcm-source.ts';

export type { PcmSource } from './pcm-source.ts';

const sampleRateMin = 8000;
const sampleRateMax = 48_000;

/** Encodes speech while it is produced, on worker threads. */
export interface EncoderPool {
  /**
   * The file, in pieces as they are complete; can be iterated once. `mp3`, `opus`, `flac` and `wav` keep the source's
   * rate where the format has it; `pcm` is always 16-bit little-endian mono at 24 kHz, without a header.
   *
   * Reads from the source only when the result is read. An early end or an abort releases the source and the encoder
   * at once. Fails with the source's error; `request_cancelled`, or the signal's reason if that is a
   * ParleyError; `internal_error` where the encoder or its thread fails; `overloaded` where the pool was closed.
   * Throws `internal_error` where the source's rate is not a whole number from 8,000 to 48,000.
   */
  encode(format: AudioFormat, source: PcmSource, signal: Signal): AsyncIterable<Uint8Array>;
  /** Ends the threads. Open streams fail with `overloaded`. */
  close(): Promise<void>;
}

/** `threads` run at a time at most, at least 1. Each serves many streams. */
export function createEncoderPool(options: { readonly threads: number }): EncoderPool {
  const pool = createThreadPool<EncodeTask, OwnedBytes>({
    entry: siblingWorker(import.meta.url, 'encode-worker'),
    threads: options.threads,
  });
  return {
    encode(format, source, signal) {
      const { sampleRate } = source;
      if (!Number.isInteger(sampleRate) || sampleRate < sampleRateMin || sampleRate > sampleRateMax) {
        const cause = new RangeError(`a sample rate of ${sampleRate} Hz`);
        throw new ParleyError('internal_error', { cause });
      }
      if (passesThrough(format, sampleRate)) return passThrough(format, source, signal);
      return encodeOnThread(() => new ThreadEncoder(pool.openSession(), format, sampleRate), source, signal);
    },
    close: () => pool.close(),
  };
}

/** One file that a thread encodes. Await each result before the next call. */
class ThreadEncoder {
  readonly #session: Session<EncodeTask, OwnedBytes>;

  constructor(session: Session<EncodeTask, OwnedBytes>, format: ComputedFormat, sampleRate: number) {
    this.#session = session;
    // A failure to open is reported by the first `encode`.
    session.run({ kind: 'open', format, sampleRate }).catch(() => undefined);
  }

  /** Transfers the samples. Resolves with the bytes that are complete, perhaps none. */
  encode(samples: Int16Array<ArrayBuffer>, isLast: boolean): Promise<Uint8Array> {
    return this.#session.run({ kind: 'encode', samples, isLast }, [samples.buffer]);
  }

  close(): void {
    this.#session.close();
  }
}

/**
 * Sends the source slice by slice to a thread and yields the answers. Only a pull moves it: the next slice leaves when
 * the reader wants more, and the next chunk is read when all slices of the last have left.
 * The file's header leaves with the first samples, so that an engine that fails before them has sent nothing.
 */
function encodeOnThread(
  open: () => ThreadEncoder,
  source: PcmSource,
  signal: Signal,
): AsyncIterable<Uint8Array> {
  const pcm = new PcmReader(source);
  let opened: ThreadEncoder | undefined;
  return new InterruptibleStream(signal, {
    async *run(wait) {
      // Opened before the first chunk: the thread loads its codec while the engine works.
      const encoder = open();
      opened = encoder;
      const slicer = new PcmSlicer(source.sampleRate);
      for (let chunk = await wait(pcm.next()); chunk !== undefined; chunk = await wait(pcm.next())) {
        slicer.push(chunk);
        for (let slice = slicer.take(); slice !== undefined; slice = slicer.take()) {
          const bytes = await wait(encoder.encode(slice, false));
          if (bytes.length > 0) yield bytes;
        }
      }
      const end = await wait(encoder.encode(slicer.rest(), true));
      if (end.length > 0) yield end;
    },
    release() {
      pcm.close();
      opened?.close();
    },
  });
}
