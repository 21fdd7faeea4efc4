/** Ends an answer where the client asked for it: at a stop sequence, or after so many tokens. */
import type { TokenCounter } from '../../../core/ports/engines.ts';

export interface LimitedAnswer {
  /** Joined they are the text. Each but the first begins with its blank. */
  readonly words: readonly string[];
  /** o200k tokens of the text, exactly. */
  readonly tokens: number;
  readonly finishReason: 'stop' | 'length';
}

/** The text before the first of the stop sequences in it; empty sequences stop nothing. */
export function endAtStop(text: string, stops: readonly string[]): string {
  const places = stops.filter((stop) => stop !== '').map((stop) => text.indexOf(stop));
  const found = places.filter((place) => place >= 0);
  return found.length === 0 ? text : text.slice(0, Math.min(...found));
}

/**
 * The text up to `tokensMax` tokens. The tokenizer joins nothing across the blank before a word, so the tokens of the
 * words are those of the text; where the limit falls within a word its longest beginning of just that many is given.
 */
export async function endAtLimit(
  text: string,
  tokensMax: number,
  tokenCounter: TokenCounter,
): Promise<LimitedAnswer> {
  const words = text.match(/\s*\S+|\s+$/g) ?? [];
  const counts = await Promise.all(words.map((word) => tokenCounter.count(word)));
  let tokens = 0;
  for (const [at, word] of words.entries()) {
    const count = counts[at] ?? 0;
    if (tokens + count > tokensMax) {
      const start = await startOfWord(word, tokensMax - tokens, tokenCounter);
      const kept = words.slice(0, at);
      if (start.text !== '') kept.push(start.text);
      return { words: kept, tokens: tokens + start.tokens, finishReason: 'length' };
    }
    tokens += count;
  }
  return { words, tokens, finishReason: 'stop' };
}

interface StartOfWord {
  readonly text: string;
  readonly tokens: number;
}

/** Of the word's beginnings with the most tokens that are allowed, the longest. */
async function startOfWord(
  word: string,
  tokensMax: number,
  tokenCounter: TokenCounter,
): Promise<StartOfWord> {
  const characters = Array.from(word);
  const texts = characters.map((_, length) => characters.slice(0, length).join(''));
  const counts = await Promise.all(texts.map((text) => tokenCounter.count(text)));
  let best: StartOfWord = { text: '', tokens: 0 };
  for (const [at, text] of texts.entries()) {
    const tokens = counts[at] ?? 0;
    if (tokens <= tokensMax && tokens >= best.tokens) best = { text, tokens };
  }
  return best;
}
