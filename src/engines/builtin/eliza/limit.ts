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
  return text.slice(0, Math.min(text.length, ...places.filter((place) => place >= 0)));
}

/** The text up to `tokensMax` tokens, with the beginning of a word that the limit cuts. It is sought by halving. */
export async function endAtLimit(
  text: string,
  tokensMax: number,
  count: (text: string) => Promise<number>,
): Promise<LimitedAnswer> {
  const all = await count(text);
  if (all <= tokensMax) return { words: wordsOf(text), tokens: all, finishReason: 'stop' };
  const characters = Array.from(text);
  let best = { text: '', tokens: 0, length: 0 };
  let tooLong = characters.length;
  while (tooLong - best.length > 1) {
    const length = Math.floor((best.length + tooLong) / 2);
    const beginning = characters.slice(0, length).join('');
    const tokens = await count(beginning);
    if (tokens <= tokensMax) best = { text: beginning, tokens, length };
    else tooLong = length;
  }
  return { words: wordsOf(best.text), tokens: best.tokens, finishReason: 'length' };
}

const wordsOf = (text: string): readonly string[] => text.match(/\s*\S+|\s+$/g) ?? [];
