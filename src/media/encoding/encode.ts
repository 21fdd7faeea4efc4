import type { AudioFormat } from '../../core/entities/engine.ts';
import { ParleyError } from '../../core/values/errors.ts';
import { interruptible, type Signal, untilAborted } from '../../core/values/signal.ts';
import { createThreadPool, type Session, siblingWorker } from '../../threads/pool.ts';
import type { OwnedBytes } from '../encoders/encoder.ts';
import { littleEndianBytes, pcmSampleRate } from '../encoders/pcm.ts';
import { unknownLength, wavHeader } from '../encoders/wav.ts';
import type { ComputedFormat, EncodeTask } from './encode-worker.ts';

const sampleRateMin = 8000;
const sampleRateMax = 48_000;

/** Encodes speech while it is produced, on worker threads. */
export interface EncoderPool {
  /**
   * The file in pieces, as they are complete; can be iterated once. The formats keep the source's rate if they support
   * it; `pcm` is 16-bit little-endian mono at 24 kHz, without a header. Reads from the source only on demand. An early
   * end or an abort releases source and encoder at once.
   * @throws the source's error, the signal's reason, `internal_error`, or `overloaded` if the pool is closed
   */
  encode(format: AudioFormat, source: PcmSource, signal: Signal): AsyncIterable<Uint8Array>;
  /** Ends the threads. Open streams fail with `overloaded`. */
  close(): Promise<void>;
}

/** At most `threads` run at a time. Each serves many streams. */
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
      return encodeOnThread(() => pool.openSession(), format, source, signal);
    },
    close: () => pool.close(),
  };
}

/**
 * Sends the source slice by slice to a thread and yields the answers. Only the reader's demand moves it on. The file's
 * header leaves with the first samples, so that nothing has been sent when an engine fails before them.
 */
function encodeOnThread(
  open: () => Session<EncodeTask, OwnedBytes>,
  format: ComputedFormat,
  source: PcmSource,
  signal: Signal,
): AsyncIterable<Uint8Array> {
  const { sampleRate } = source;
  return interruptible(signal, async function* (stop) {
    // Opened before the first chunk, so that the thread loads its codec while the engine works.
    const session = open();
    stop.addEventListener('abort', () => session.close());
    // A failure to open is reported by the first slice.
    session.run({ kind: 'open', format, sampleRate }).catch(() => undefined);
    const encode = (samples: Int16Array<ArrayBuffer>, isLast: boolean) =>
      untilAborted(session.run({ kind: 'encode', samples, isLast }, [samples.buffer]), stop);
    for await (const chunk of chunksOf(source, stop)) {
      for (const slice of slicesOf(chunk)) {
        const bytes = await encode(slice, false);
        if (bytes.length > 0) yield bytes;
      }
    }
    const end = await encode(new Int16Array(0), true);
    if (end.length > 0) yield end;
  });
}

/** Whether the format accepts the samples at this rate unchanged, so that no thread is needed. */
function passesThrough(format: AudioFormat, sampleRate: number): format is 'wav' | 'pcm' {
  return format === 'wav' || (format === 'pcm' && sampleRate === pcmSampleRate);
}

/**
 * The source's bytes without a copy, after a header if the format has one. The header waits for the first samples, so that nothing
 * has been sent when an engine fails before them. Without samples it states length 0.
 */
function passThrough(format: 'wav' | 'pcm', source: PcmSource, signal: Signal): AsyncIterable<Uint8Array> {
  return interruptible(signal, async function* (stop) {
    let needsHeader = format === 'wav';
    for await (const chunk of chunksOf(source, stop)) {
      if (chunk.length === 0) continue;
      if (needsHeader) yield wavHeader(source.sampleRate, unknownLength);
      needsHeader = false;
      yield littleEndianBytes(chunk);
    }
    if (needsHeader) yield wavHeader(source.sampleRate, 0);
  });
}

/** Speech from an engine: mono, 16-bit samples at one rate. */
export interface PcmSource {
  /** Hertz: a whole number from 8,000 to 48,000. */
  readonly sampleRate: number;
  /** Chunks of any length. The reader owns a chunk's memory; the source does not write to it again. */
  readonly samples: AsyncIterable<Int16Array>;
}

/** The chunks of a source. Unlike `for await`, an abort releases the source while it is still waited for. */
async function* chunksOf({ samples }: PcmSource, stop: Signal): AsyncGenerator<Int16Array, void, undefined> {
  const iterator = samples[Symbol.asyncIterator]();
  let isOpen = true;
  stop.addEventListener('abort', () => {
    // The reader has left or failed already, so an error of the source does not matter.
    if (isOpen) iterator.return?.().catch(() => undefined);
  });
  const close = () => {
    isOpen = false;
  };
  while (isOpen) {
    const next = iterator.next();
    next.catch(close);
    const { done, value } = await untilAborted(next, stop);
    if (done) close();
    else yield value;
  }
}

/** Maximum samples of a stream that are on their way to a thread: one slice, as the next waits for its answer. */
export const pcmInFlightSamplesMax = 4096;

/** Each slice has its own memory, which may be transferred. */
function* slicesOf(chunk: Int16Array): Generator<Int16Array<ArrayBuffer>, void, undefined> {
  for (let at = 0; at < chunk.length; at += pcmInFlightSamplesMax)
    yield new Int16Array(chunk.subarray(at, at + pcmInFlightSamplesMax));
}
