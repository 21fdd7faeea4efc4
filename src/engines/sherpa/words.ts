/** Puts the tokens of a recogniser together to words with times. */
import type { RecognisedWord } from '../builtin/pocketsphinx/hypothesis.ts';
import type { RecognitionResult } from './addon.ts';

/** The length of a word's last token, if the recogniser gives none and nothing follows. */
const tokenMsMax = 200;

/** Empty without times. Without probabilities, each is 1. */
export function wordsOf(result: RecognitionResult): RecognisedWord[] {
  const { tokens, timestamps } = result;
  if (timestamps.length < tokens.length) return [];
  const words: { readonly word: string; readonly from: number; readonly to: number }[] = [];
  for (const [at, token] of tokens.entries()) {
    const text = token.replace(/^[\s▁]+/, '');
    const last = words.at(-1);
    const begins = last === undefined || last.word === '' || text !== token;
    if (begins) words.push({ word: text, from: at, to: at });
    else words.splice(-1, 1, { ...last, word: last.word + text, to: at });
  }
  const spoken = words.filter(({ word }) => word !== '');
  return spoken.map(({ word, from, to }) => ({
    word: word.trimEnd(),
    startMs: msOf(timestamps[from]),
    endMs: endOf(result, to),
    probability: probabilityOf(result, from, to),
  }));
}

function endOf({ timestamps, durations }: RecognitionResult, at: number): number {
  const startMs = msOf(timestamps[at]);
  const duration = durations[at];
  if (duration !== undefined && duration > 0) return startMs + msOf(duration);
  return Math.min(msOf(timestamps[at + 1] ?? Infinity), startMs + tokenMsMax);
}

/** A word is as probable as its tokens together. */
function probabilityOf({ ys_log_probs: logs }: RecognitionResult, from: number, to: number): number {
  const sum = logs.slice(from, to + 1).reduce((total, log) => total + log, 0);
  return Math.min(1, Math.exp(sum));
}

function msOf(seconds = 0): number {
  return Math.round(seconds * 1000);
}
