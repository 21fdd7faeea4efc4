import { describe, expect, it } from 'vitest';
import { compileFlite, FliteProgram } from '../../../src/engines/builtin/flite/program.ts';
import { synthesizePiece } from '../../../src/engines/builtin/flite/synthesis.ts';
import {
  BuiltLame,
  createLame,
  createPackagedLame,
  type Lame,
  type Mp3Rate,
} from '../../../src/media/encoders/mp3.ts';
import { readExtra } from '../../../src/media/hearing-files.ts';
import { decode } from '../ffmpeg.ts';
import { bandLevelsDb, signalToErrorDb } from '../signals.ts';

/** Samples that a decoder plays before the first one. */
const delaySamples = 1105;
const text =
  'The river rose in the night, and she sells sixty-six fresh fish. Which of these boxes was yours?';
const isBuilt = readExtra('lame') !== undefined;

function encode(lame: Lame, samples: Int16Array, sampleRate: Mp3Rate): Buffer {
  lame.begin(sampleRate);
  return Buffer.concat([lame.encode(samples), lame.finish()]);
}

describe.skipIf(!isBuilt)(`LAME as set-up builds it${isBuilt ? '' : ': not built'}`, () => {
  it('is the one in use', async () => {
    expect(await createLame()).toBeInstanceOf(BuiltLame);
  });

  it.each([
    ['slt', 16_000],
    ['awb', 16_000],
    ['kal', 8000],
  ] as const)(
    'keeps the voice %s: no band differs by 0.2 dB from the package, and no more is lost',
    async (voice, rate) => {
      const speech = synthesizePiece(new FliteProgram(await compileFlite()), { voice, text });
      const decoded = async (lame: Lame) =>
        (await decode(encode(lame, speech, rate), rate)).subarray(delaySamples);
      const built = await decoded(await createLame());
      const packaged = await decoded(await createPackagedLame());
      const levels = bandLevelsDb(packaged);
      expect(levels.length).toBe(16);
      for (const [band, level] of bandLevelsDb(built).entries()) {
        expect(Math.abs(level - (levels[band] ?? Number.NaN)), `band ${band}`).toBeLessThan(0.2);
      }
      expect(signalToErrorDb(speech, built)).toBeGreaterThan(signalToErrorDb(speech, packaged) - 0.2);
    },
  );

  it('writes the same file after one that was not finished', async () => {
    const samples = Int16Array.from({ length: 20_000 }, (_, index) => 9000 * Math.sin(index / 9));
    const lame = await createLame();
    const file = encode(lame, samples, 24_000);
    lame.begin(48_000);
    lame.encode(samples);
    expect(Buffer.compare(encode(lame, samples, 24_000), file)).toBe(0);
  });
});
