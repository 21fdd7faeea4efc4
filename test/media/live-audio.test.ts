/** Conversions between the audio of clients, live speech, and the audio of upstreams. */
import { describe, expect, it } from 'vitest';
import { Resampler } from '../../src/media/encoders/resample.ts';
import {
  alawByte,
  mulawByte,
  openDecoder,
  openUpstreamEncoder,
  type UpstreamFormat,
} from '../../src/media/raw-audio.ts';

function sine(hertz: number, rate: number, seconds = 1): Int16Array<ArrayBuffer> {
  const at = (index: number) => 12_000 * Math.sin((2 * Math.PI * hertz * index) / rate);
  return Int16Array.from({ length: rate * seconds }, (_, index) => at(index));
}

function inParts(samples: Int16Array, length: number): Int16Array<ArrayBuffer>[] {
  const count = Math.ceil(samples.length / length);
  return Array.from({ length: count }, (_, at) => samples.slice(at * length, (at + 1) * length));
}

const bytesOf = ({ buffer, byteOffset, byteLength }: Int16Array) =>
  new Uint8Array(buffer, byteOffset, byteLength);

describe('the audio of a client', () => {
  it.each([8_000, 24_000, 44_100])('at %i Hz becomes the samples of the plain resampler', (rate) => {
    const decode = openDecoder('pcm16', rate);
    const plain = new Resampler(rate, 16_000);
    for (const part of inParts(sine(440, rate), rate / 50)) {
      const [fast, slow] = [decode(bytesOf(part)), plain.process(part)];
      expect(fast.length).toBe(slow.length);
      expect(
        Math.max(0, ...Array.from(fast, (sample, at) => Math.abs(sample - (slow[at] ?? 0)))),
      ).toBeLessThan(2);
    }
  });
});

describe('the audio of an upstream', () => {
  const formats = [
    ['pcm', 'pcm16', 24_000, 2, 40],
    ['pcmu', 'mulaw', 8_000, 1, 400],
    ['pcma', 'alaw', 8_000, 1, 400],
  ] as const;

  it.each(formats)(
    'as %s decodes to the speech that it was',
    async (format, encoding, rate, width, within) => {
      const speech = sine(440, 16_000);
      const bytes = encoded(format, speech);
      expect(bytes.length).toBe(rate * width);
      const again = openDecoder(encoding, rate)(bytes);
      const [from, to] = [1_000, 14_000];
      const worst = Math.max(
        ...Array.from(again.slice(from, to), (sample, at) => Math.abs(sample - (speech[from + at] ?? 0))),
      );
      expect(worst).toBeLessThan(within);
    },
  );

  it.each([
    ['mulaw', mulawByte],
    ['alaw', alawByte],
  ] as const)('is within a step of G.711 at each of 16 bits: %s', (encoding, byteOf) => {
    const table = openDecoder(encoding, 16_000)(Uint8Array.from({ length: 256 }, (_, byte) => byte));
    for (const sample of table) expect(table[byteOf(sample)]).toBe(sample);
    for (let sample = -32_768; sample < 32_768; sample += 97) {
      const distance = Math.abs((table[byteOf(sample)] ?? 0) - sample);
      expect(distance, `of ${sample}`).toBeLessThanOrEqual(16 + Math.abs(sample) / 30);
    }
  });
});

function encoded(format: UpstreamFormat, speech: Int16Array<ArrayBuffer>): Uint8Array {
  const encoder = openUpstreamEncoder(format);
  const parts = inParts(speech, 1_600).map((part) => encoder.encode(part));
  return Uint8Array.from(Buffer.concat([...parts, encoder.finish()]));
}
