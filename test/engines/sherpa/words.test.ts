import { describe, expect, it } from 'vitest';
import { wordsOf } from '../../../src/engines/sherpa/transcription.ts';

const result = { text: '', lang: '', durations: [], ys_log_probs: [] };

describe('words of a recogniser', () => {
  it('are put together from tokens, with the times from the first to the last', () => {
    const tokens = [' he', 'llo', ' ', 'w', 'orld', '.'];
    const timestamps = [0.2, 0.28, 0.6, 0.68, 0.8, 1.04];
    expect(wordsOf({ ...result, tokens, timestamps })).toEqual([
      { word: 'hello', startMs: 200, endMs: 480, probability: 1 },
      { word: 'world.', startMs: 680, endMs: 1240, probability: 1 },
    ]);
  });

  it('have the lengths and the probabilities that the recogniser gives', () => {
    const logs = [Math.log(0.5), Math.log(0.5), 0.001];
    const numbers = { timestamps: [0, 0.1, 0.3], durations: [0.1, 0.08, 0.5], ys_log_probs: logs };
    expect(wordsOf({ ...result, ...numbers, tokens: ['▁a', 'b', '▁c'] })).toEqual([
      { word: 'ab', startMs: 0, endMs: 180, probability: expect.closeTo(0.25) },
      { word: 'c', startMs: 300, endMs: 800, probability: 1 },
    ]);
  });

  it('are none without times', () => {
    expect(wordsOf({ ...result, tokens: [' hello'], timestamps: [] })).toEqual([]);
  });
});
