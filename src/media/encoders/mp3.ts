import { createMp3Encoder as createLame } from 'wasm-media-encoders';
import { type Encoder, joinBytes, type OwnedBytes } from './encoder.ts';
import { resampled } from './resampled.ts';

/**
 * Clear speech in mono at every rate. It is constant, not variable, because a stream cannot carry the index of
 * frames that players need to tell the duration of a variable one.
 */
const bitrateKbps = 64;

/** Every rate of MPEG 1, 2 and 2.5. */
const rates = [8000, 11_025, 12_000, 16_000, 22_050, 24_000, 32_000, 44_100, 48_000] as const;
const highestRate = 48_000;
const frameSamplesMax = 1152;

/** An instance costs tens of milliseconds to make and can be configured anew, so a few wait for the next stream. */
const idleCodecsMax = 4;

type Lame = Awaited<ReturnType<typeof createLame>>;
const idleCodecs: Lame[] = [];

/**
 * An MP3 file at the source's own rate where MP3 has it, else at the next above. A decoder plays the usual 1,105
 * samples of codec delay as silence before the first: the tag that tells players to skip them also needs the
 * length, which a stream does not know.
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
    // Of no samples LAME makes one frame, and players do not know an MP3 file by less than two.
    const start = this.#isEmpty ? this.encode(new Int16Array(frameSamplesMax)) : new Uint8Array(0);
    return joinBytes([start, this.#kept(() => this.#codec.finalize())]);
  }

  free(): void {
    if (this.#isSound && idleCodecs.length < idleCodecsMax) idleCodecs.push(this.#codec);
  }

  /** A copy of what the codec returns, which lies in its own memory. A codec that has thrown is not used again. */
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
