import { type Encoder, joinBytes, type OwnedBytes } from './encoder.ts';
import { createLame, type Lame, mp3Rates } from './lame.ts';
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
