import { createMp3Encoder as createLame } from 'wasm-media-encoders';
import { type Encoder, joinBytes, type OwnedBytes } from './encoder.ts';
import { resampled } from './resample.ts';

/**
 * Clear mono speech at every rate. Constant, because a variable bitrate needs a frame index, which a stream cannot
 * have.
 */
const bitrateKbps = 64;

/** Every rate of MPEG 1, 2 and 2.5. */
const rates = [8000, 11_025, 12_000, 16_000, 22_050, 24_000, 32_000, 44_100, 48_000] as const;
const highestRate = 48_000;
const frameSamplesMax = 1152;

/** Creating an instance takes tens of milliseconds, and an instance can be configured again, so a few are kept. */
const idleCodecsMax = 4;

type Lame = Awaited<ReturnType<typeof createLame>>;
const idleCodecs: Lame[] = [];

/**
 * An MP3 file at the source's rate, or at the next higher rate that MP3 has. Players play the codec delay of 1,105
 * samples as silence, because the tag that skips it also states the length, unknown in a stream.
 */
export async function createMp3Encoder(sampleRate: number): Promise<Encoder> {
  const rate = rates.find((candidate) => candidate >= sampleRate) ?? highestRate;
  const codec = idleCodecs.pop() ?? (await createLame());
  codec.configure({ sampleRate: rate, channels: 1, bitrate: bitrateKbps, outputSampleRate: rate });
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
    return this.#kept(() => this.#codec.encode([toFloats(samples)]));
  }

  finish(): OwnedBytes {
    // Players recognise an MP3 file by two frames; without samples LAME writes one.
    const start = this.#isEmpty ? this.encode(new Int16Array(frameSamplesMax)) : new Uint8Array(0);
    return joinBytes([start, this.#kept(() => this.#codec.finalize())]);
  }

  free(): void {
    if (this.#isSound && idleCodecs.length < idleCodecsMax) idleCodecs.push(this.#codec);
  }

  /** Copies the result out of the codec's memory. A codec that threw is not used again. */
  #kept(work: () => Uint8Array): OwnedBytes {
    this.#isSound = false;
    const bytes = new Uint8Array(work());
    this.#isSound = true;
    return bytes;
  }
}

function toFloats(samples: Int16Array): Float32Array {
  const floats = new Float32Array(samples.length);
  for (let index = 0; index < samples.length; index += 1) floats[index] = (samples[index] ?? 0) / 32_768;
  return floats;
}
