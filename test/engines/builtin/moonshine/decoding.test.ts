import { describe, expect, it } from 'vitest';
import { readVocabulary, textOf, withoutLoop } from '../../../../src/engines/builtin/moonshine/model.ts';
import { spokenText } from '../../../../src/engines/builtin/moonshine/speech-gate.ts';
import { timeWords } from '../../../../src/engines/builtin/moonshine/word-times.ts';

describe('the tokens of Moonshine', () => {
  it('have lengths of one or two bytes, and may share a character', () => {
    const long = 'x'.repeat(200);
    const bytes = Buffer.concat([
      Buffer.from([0, 4]),
      Buffer.from('▁a'),
      Buffer.from([1, 0xc3, 1, 0xa9, 128 + (200 % 128), 1]),
      Buffer.from(long),
    ]);
    const vocabulary = readVocabulary(bytes);
    expect(vocabulary).toHaveLength(5);
    expect(textOf(vocabulary, [1, 2, 3, 4])).toBe(`aé${long}`);
  });

  it('end where they repeat', () => {
    expect(withoutLoop([5, 1, 2, 1, 2, 1, 2])).toBeUndefined();
    expect(withoutLoop([5, 1, 2, 1, 2, 1, 2, 1, 2])).toEqual([5, 1, 2]);
    expect(withoutLoop([7, 7, 7, 7, 7, 7, 7])).toBeUndefined();
    expect(withoutLoop([7, 7, 7, 7, 7, 7, 7, 7])).toEqual([7]);
  });
});

describe('a text', () => {
  it.each([
    ['You', -0.2, ''],
    ['You.', -0.2, 'You.'],
    ['♪♪', -0.3, ''],
    ['Oh my God.', -1.1, ''],
    ['Ten.', -0.6, 'Ten.'],
  ])('%s with %d is %s', (text, logProbability, spoken) => {
    expect(spokenText({ text, logProbability })).toBe(spoken);
  });
});

describe('the estimated times of words', () => {
  const tone = (ms: number, level: number) =>
    Array.from({ length: ms * 16 }, (_, at) => level * Math.sin(at / 5));

  it('share the sound by length, and end at pauses', () => {
    const samples = Int16Array.from([
      ...tone(200, 0),
      ...tone(900, 9_000),
      ...tone(500, 0),
      ...tone(600, 9_000),
    ]);
    const [one, two, three] = timeWords('Come home. Now', samples);
    expect(one?.startMs).toBeGreaterThanOrEqual(150);
    expect(two?.startMs).toBe(one?.endMs);
    expect(Math.abs((two?.endMs ?? 0) - 1_100)).toBeLessThan(80);
    expect(Math.abs((three?.startMs ?? 0) - 1_600)).toBeLessThan(80);
    expect(three?.endMs).toBeGreaterThan(2_100);
  });

  it('exist for words without sound', () => {
    expect(timeWords('a b', new Int16Array(0))).toEqual([
      { word: 'a', startMs: 0, endMs: 10 },
      { word: 'b', startMs: 10, endMs: 20 },
    ]);
  });
});
