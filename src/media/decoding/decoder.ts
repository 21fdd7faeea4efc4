/**
 * Decodes any of the ten formats to 16 kHz mono samples, with ffmpeg's demuxers and decoders in WebAssembly. The module
 * sees only the bytes that it is passed, and its memory has a maximum: a hostile file harms only its own instance.
 * Blocks its thread, so use it in worker threads.
 */
import type { MediaContainer } from '../formats/file-format.ts';
import { WasmInstance } from '../wasm-instance.ts';

/** Sample rate of all decoded audio, in hertz. */
export const decodedSampleRate = 16_000;

/** A file may state exactly at which sample its last packet ends. Counted and stated durations are then this close. */
const packetMs = 100;
/** Longer stated durations are ignored. */
const statedMsMax = 30 * 24 * 3_600_000;

const demuxers = {
  flac: 'flac',
  mp3: 'mp3',
  mp4: 'mov',
  mpeg: 'mpeg',
  ogg: 'ogg',
  wav: 'wav',
  webm: 'matroska',
} as const satisfies Record<MediaContainer, string>;

export interface EncodedFile<Bytes = Uint8Array<ArrayBuffer>> {
  readonly bytes: Bytes;
  readonly container: MediaContainer;
}

/** The decoder of one file. After the first failure of the module, nothing more of the file is read. */
export class Decoder {
  readonly #instance: WasmInstance;
  /** Why the file cannot be read further; undefined if there was no error. */
  #failure: string | undefined;
  /** The codec of the file's audio, in FFmpeg's words, if there is no decoder for it. */
  #undecodable: string | undefined;

  /** Reads the beginning of the file. */
  constructor(module: WebAssembly.Module, { bytes, container }: EncodedFile<Uint8Array>) {
    const readAt = (pointer: number, length: number, offset: number): number => {
      const part = bytes.subarray(offset, offset + length);
      this.#instance.bytes.set(part, pointer);
      return part.length;
    };
    this.#instance = new WasmInstance(module, { env: { read_at: readAt } });
    this.#attempt(() => {
      this.#instance.call('_initialize');
      const name = Buffer.from(`${demuxers[container]}\0`);
      const pointer = this.#instance.call('allocate', name.length);
      this.#instance.bytes.set(name, pointer);
      const code = this.#instance.call('open', bytes.length, pointer);
      if (code >= 0) return;
      const codec = this.#instance.call('undecodable');
      if (codec !== 0) this.#undecodable = this.#instance.textAt(codec);
      throw new Error(`the decoder refuses the file with ${code}`);
    });
  }

  get undecodable(): string | undefined {
    return this.#undecodable;
  }

  get failure(): string | undefined {
    return this.#failure;
  }

  /** Milliseconds of audio that the file states, possibly wrong; undefined without a statement. */
  statedMs(): number | undefined {
    return believable(this.#attempt(() => this.#instance.call('duration') * 1000));
  }

  /** Whole milliseconds of audio by the file's packets, counted without decoding. The file cannot be read afterwards. */
  countedMs(): number | undefined {
    const statedMs = this.statedMs();
    const countedMs = believable(this.#attempt(() => this.#instance.call('scan') * 1000));
    if (countedMs === undefined) return undefined;
    const isExact = statedMs !== undefined && Math.abs(countedMs - statedMs) < packetMs;
    return Math.round(isExact ? Math.min(countedMs, statedMs) : countedMs);
  }

  /** The samples from here on, in blocks. A truncated file yields the samples before the break. */
  *blocks(): Generator<Int16Array<ArrayBuffer>, void, void> {
    for (let block = this.#read(); block !== undefined; block = this.#read()) yield block;
  }

  #read(): Int16Array<ArrayBuffer> | undefined {
    return this.#attempt(() => {
      const count = this.#instance.call('read');
      return count > 0 ? this.#instance.samplesAt(this.#instance.call('samples'), count) : undefined;
    });
  }

  /** A failed instance is not used again. */
  #attempt<Result>(work: () => Result): Result | undefined {
    if (this.#failure !== undefined) return undefined;
    try {
      return work();
    } catch (error) {
      this.#failure = error instanceof Error ? error.message : String(error);
      return undefined;
    }
  }
}

function believable(durationMs: number | undefined): number | undefined {
  const isBelievable = durationMs !== undefined && durationMs > 0 && durationMs <= statedMsMax;
  return isBelievable ? durationMs : undefined;
}
