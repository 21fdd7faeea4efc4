import type { TokenCounter } from '../../../core/ports/engines.ts';

export interface LimitedAnswer {
  /** Joined without a separator, they are the text. Each but the first begins with its blank. */
  readonly words: readonly string[];
  /** The exact number of o200k tokens of the text. */
  readonly tokens: number;
  readonly finishReason: 'stop' | 'length';
}

/** The text before the first stop sequence. Empty sequences are ignored. */
export function endAtStop(text: string, stops: readonly string[]): string {
  const places = stops.filter((stop) => stop !== '').map((stop) => text.indexOf(stop));
  const found = places.filter((place) => place >= 0);
  return found.length === 0 ? text : text.slice(0, Math.min(...found));
}

/**
 * The text up to `tokensMax` tokens, with the beginning of a word that the limit cuts. The tokenizer never joins a word with
 * the one before, so the tokens of the words add up to those of the text.
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

/** The longest beginning of the word among those with the most tokens up to `tokensMax`. */
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
