import { describe, expect, it } from 'vitest';
import { openDecoder as liveDecoder, openEncoder as liveEncoder } from '../../src/media/raw-audio.ts';

describe('speech for a live client', () => {
  it.each(['mulaw', 'alaw'] as const)(
    'has the samples of G.711 in %s, at a third of the rate',
    (encoding) => {
      const samples = Int16Array.from({ length: 24_000 }, (_, at) => 20_000 * Math.sin(at / 40));
      const encode = liveEncoder(encoding);
      const bytes = Buffer.from(samples.buffer);
      // Parts end in the middle of a sample.
      const parts = [bytes.subarray(0, 1_001), bytes.subarray(1_001, 30_000), bytes.subarray(30_000)];
      const encoded = Buffer.concat(parts.map((part) => encode(part)));
      expect(encoded.length).toBeGreaterThan(7_950);
      expect(encoded.length).toBeLessThanOrEqual(8_000);
      // Decoded without a change of the rate: a decoder for 16 kHz.
      const heard = liveDecoder(encoding, 16_000)(encoded);
      for (let at = 100; at < heard.length - 100; at++) {
        const wanted = samples[3 * at] ?? 0;
        expect(Math.abs((heard[at] ?? 0) - wanted)).toBeLessThan(40 + Math.abs(wanted) / 25);
      }
    },
  );

  it('is PCM as it is, in whole samples', () => {
    const encode = liveEncoder('pcm16');
    const parts = [Buffer.from([1, 2, 3]), Buffer.from([4, 5]), Buffer.from([6])].map((part) => [
      ...encode(part),
    ]);
    expect(parts).toEqual([
      [1, 2],
      [3, 4],
      [5, 6],
    ]);
  });
});
