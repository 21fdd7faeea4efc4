import { readExtra } from '../hearing-files.ts';
import { WasmInstance } from '../wasm-instance.ts';
import { type Encoder, joinBytes, type OwnedBytes } from './encoder.ts';
import { resampled } from './resample.ts';

const highestRate = 48_000;
const frameSamplesMax = 1152;

/** Creating an instance takes tens of milliseconds, and an instance can be configured again, so a few are kept. */
const idleCodecsMax = 4;

const idleCodecs: Lame[] = [];

/**
 * An MP3 file at the source's rate, or at the next higher rate that MP3 has. Players play the codec delay of 1,105
 * samples as silence, because the tag that skips it also states the length, unknown in a stream.
 */
export async function createMp3Encoder(sampleRate: number): Promise<Encoder> {
  const rate = mp3Rates.find((candidate) => candidate >= sampleRate) ?? highestRate;
  const codec = idleCodecs.pop() ?? (await createLame());
  codec.begin(rate);
  return resampled(new Mp3Encoder(codec), sampleRate, rate);
}

class Mp3Encoder implements Encoder {
  readonly #codec: Lame;
  #isSound = true;
  #isEmpty = true;

  constructor(codec: Lame) {
    this.#codec = codec;
  }

  encode(samples: Int16Array): OwnedBytes {
    if (samples.length > 0) this.#isEmpty = false;
    return this.#checked(() => this.#codec.encode(samples));
  }

  finish(): OwnedBytes {
    // Players recognise an MP3 file by two frames; without samples LAME writes one.
    const start = this.#isEmpty ? this.encode(new Int16Array(frameSamplesMax)) : new Uint8Array(0);
    return joinBytes([start, this.#checked(() => this.#codec.finish())]);
  }

  free(): void {
    if (this.#isSound && idleCodecs.length < idleCodecsMax) idleCodecs.push(this.#codec);
  }

  /** A codec that threw is not used again. */
  #checked(work: () => OwnedBytes): OwnedBytes {
    this.#isSound = false;
    const bytes = work();
    this.#isSound = true;
    return bytes;
  }
}

/** Every rate of MPEG 1, 2 and 2.5. */
const mp3Rates = [8000, 11_025, 12_000, 16_000, 22_050, 24_000, 32_000, 44_100, 48_000] as const;
export type Mp3Rate = (typeof mp3Rates)[number];

/**
 * Clear mono speech at every rate. Constant, because a variable bitrate needs a frame index, which a stream cannot
 * have.
 */
const bitrateKbps = 64;

/** An MP3 encoder of mono samples with a constant bitrate. After an error it must not be used again. */
export interface Lame {
  /** Starts a file. */
  begin(sampleRate: Mp3Rate): void;
  encode(samples: Int16Array): OwnedBytes;
  /** The rest of the file. */
  finish(): OwnedBytes;
}

/**
 * From 0, the most, to 9. The levels of 3, LAME's default, and of 5 differ by less than 0.2 dB in any band of speech, and 5 takes
 * a quarter less CPU.
 */
const effort = 5;

let module: WebAssembly.Module | undefined;

/** The fastest LAME of this machine; a thread loads the module at the first use. */
export async function createLame(): Promise<Lame> {
  const bytes = module === undefined ? readExtra('lame') : undefined;
  module ??= bytes && new WebAssembly.Module(bytes);
  return module ? new BuiltLame(module) : createPackagedLame();
}

export class BuiltLame implements Lame {
  readonly #instance: WasmInstance;
  readonly #samplesMax: number;

  constructor(module: WebAssembly.Module) {
    this.#instance = new WasmInstance(module);
    this.#instance.call('_initialize');
    this.#samplesMax = this.#instance.call('samples_max');
  }

  begin(sampleRate: Mp3Rate): void {
    if (this.#instance.call('begin', sampleRate, bitrateKbps, effort) < 0) {
      throw new Error(`LAME refuses ${bitrateKbps} kbit/s at ${sampleRate} Hz`);
    }
  }

  encode(samples: Int16Array): OwnedBytes {
    const parts: OwnedBytes[] = [];
    for (let offset = 0; offset < samples.length; offset += this.#samplesMax) {
      const slice = samples.subarray(offset, offset + this.#samplesMax);
      this.#instance.write(slice, this.#instance.call('input'));
      parts.push(this.#output(this.#instance.call('encode', slice.length)));
    }
    return joinBytes(parts);
  }

  finish(): OwnedBytes {
    return this.#output(this.#instance.call('finish'));
  }

  #output(bytes: number): OwnedBytes {
    if (bytes < 0) throw new Error(`LAME failed with ${bytes}`);
    const start = this.#instance.call('output');
    return this.#instance.bytes.slice(start, start + bytes);
  }
}

export async function createPackagedLame(): Promise<Lame> {
  const { createMp3Encoder } = await import('wasm-media-encoders');
  const codec = await createMp3Encoder();
  return {
    begin: (sampleRate) =>
      codec.configure({ sampleRate, channels: 1, bitrate: bitrateKbps, outputSampleRate: sampleRate }),
    encode: (samples) => new Uint8Array(codec.encode([toFloats(samples)])),
    finish: () => new Uint8Array(codec.finalize()),
  };
}

function toFloats(samples: Int16Array): Float32Array {
  const floats = new Float32Array(samples.length);
  for (let index = 0; index < samples.length; index += 1) floats[index] = (samples[index] ?? 0) / 32_768;
  return floats;
}
