import type { AudioFormat } from '../../core/entities/engine.ts';
import { ParleyError } from '../../core/values/errors.ts';
import type { Signal } from '../../core/values/signal.ts';
import { createThreadPool, type Session, siblingWorker } from '../../threads/pool.ts';
import type { OwnedBytes } from '../encoders/encoder.ts';
import { littleEndianBytes, pcmSampleRate } from '../encoders/pcm.ts';
import { unknownLength, wavHeader } from '../encoders/wav.ts';
import type { ComputedFormat, EncodeTask } from './encode-worker.ts';
import { InterruptibleStream, type Wait } from './interruptible-stream.ts';

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
  const pcm = new PcmReader(source);
  const { sampleRate } = source;
  let session: Session<EncodeTask, OwnedBytes> | undefined;
  return new InterruptibleStream(signal, {
    async *run(wait) {
      // Opened before the first chunk, so that the thread loads its codec while the engine works.
      const opened = open();
      session = opened;
      // A failure to open is reported by the first slice.
      opened.run({ kind: 'open', format, sampleRate }).catch(() => undefined);
      const encode = (samples: Int16Array<ArrayBuffer>, isLast: boolean) =>
        opened.run({ kind: 'encode', samples, isLast }, [samples.buffer]);
      const slicer = new PcmSlicer(sampleRate);
      for (let chunk = await wait(pcm.next()); chunk !== undefined; chunk = await wait(pcm.next())) {
        slicer.push(chunk);
        for (let slice = slicer.take(); slice !== undefined; slice = slicer.take()) {
          const bytes = await wait(encode(slice, false));
          if (bytes.length > 0) yield bytes;
        }
      }
      const end = await wait(encode(slicer.rest(), true));
      if (end.length > 0) yield end;
    },
    release() {
      pcm.close();
      session?.close();
    },
  });
}

/** Whether the format accepts the samples at this rate unchanged, so that no thread is needed. */
function passesThrough(format: AudioFormat, sampleRate: number): format is 'wav' | 'pcm' {
  return format === 'wav' || (format === 'pcm' && sampleRate === pcmSampleRate);
}

/** The source's bytes without a copy, after a header if the format has one. */
function passThrough(format: 'wav' | 'pcm', source: PcmSource, signal: Signal): AsyncIterable<Uint8Array> {
  const pcm = new PcmReader(source);
  return new InterruptibleStream(signal, {
    run: (wait) => (format === 'wav' ? wavBytes(pcm, source.sampleRate, wait) : pcmBytes(pcm, wait)),
    release: () => pcm.close(),
  });
}

/**
 * The header waits for the first samples, so that nothing has been sent when an engine fails before them. Without
 * samples it states length 0.
 */
async function* wavBytes(
  pcm: PcmReader,
  sampleRate: number,
  wait: Wait,
): AsyncGenerator<Uint8Array, void, undefined> {
  let hasStarted = false;
  for await (const bytes of pcmBytes(pcm, wait)) {
    if (!hasStarted) yield wavHeader(sampleRate, unknownLength);
    hasStarted = true;
    yield bytes;
  }
  if (!hasStarted) yield wavHeader(sampleRate, 0);
}

async function* pcmBytes(pcm: PcmReader, wait: Wait): AsyncGenerator<Uint8Array, void, undefined> {
  for (let chunk = await wait(pcm.next()); chunk !== undefined; chunk = await wait(pcm.next())) {
    if (chunk.length > 0) yield littleEndianBytes(chunk);
  }
}

/** Speech from an engine: mono, 16-bit samples at one rate. */
export interface PcmSource {
  /** Hertz: a whole number from 8,000 to 48,000. */
  readonly sampleRate: number;
  /** Chunks of any length. The reader owns a chunk's memory; the source does not write to it again. */
  readonly samples: AsyncIterable<Int16Array>;
}

/** Reads a source chunk by chunk. Unlike `for await`, it can release the source while it waits for a chunk. */
class PcmReader {
  readonly #samples: AsyncIterable<Int16Array>;
  #iterator: AsyncIterator<Int16Array> | undefined;
  #isOpen = true;

  constructor(source: PcmSource) {
    this.#samples = source.samples;
  }

  /** The next chunk; undefined at the end. */
  async next(): Promise<Int16Array | undefined> {
    try {
      this.#iterator ??= this.#samples[Symbol.asyncIterator]();
      const { done, value } = await this.#iterator.next();
      if (!done) return value;
    } catch (error) {
      this.#isOpen = false;
      throw error;
    }
    this.#isOpen = false;
    return undefined;
  }

  /** Releases a source that has started but not ended. Does not wait for it. */
  close(): void {
    if (!this.#isOpen) return;
    this.#isOpen = false;
    // The reader has left or failed already, so an error of the source does not matter.
    this.#iterator?.return?.().catch(() => undefined);
  }
}

/** Maximum samples of a stream that are on their way to a thread: one slice, as the next waits for its answer. */
export const pcmInFlightSamplesMax = 4096;

/**
 * Shorter slices wait for more samples: no codec completes a frame from them, and each message to a thread costs time.
 */
const sliceMsMin = 20;

/** Cuts or joins chunks into slices for a thread. Each slice has its own memory, which may be transferred. */
class PcmSlicer {
  readonly #samplesMin: number;
  /** The rest of earlier chunks, shorter than a slice. */
  #carry = new Int16Array(0);
  #chunk: Int16Array = new Int16Array(0);

  constructor(sampleRate: number) {
    this.#samplesMin = Math.ceil((sampleRate * sliceMsMin) / 1000);
  }

  /** Adds a chunk. Requires that `take` has returned undefined since the last one. */
  push(chunk: Int16Array): void {
    this.#chunk = chunk;
  }

  /** The next slice; undefined if too little is left for one. */
  take(): Int16Array<ArrayBuffer> | undefined {
    const held = this.#carry.length + this.#chunk.length;
    if (held >= this.#samplesMin) return this.#cut(Math.min(held, pcmInFlightSamplesMax));
    this.#carry = this.#cut(held);
    return undefined;
  }

  /** The rest at the end, shorter than a slice, perhaps empty. */
  rest(): Int16Array<ArrayBuffer> {
    return this.#cut(this.#carry.length + this.#chunk.length);
  }

  #cut(length: number): Int16Array<ArrayBuffer> {
    const slice = new Int16Array(length);
    const fromChunk = length - this.#carry.length;
    slice.set(this.#carry);
    slice.set(this.#chunk.subarray(0, fromChunk), this.#carry.length);
    this.#carry = new Int16Array(0);
    this.#chunk = this.#chunk.subarray(fromChunk);
    return slice;
  }
}
