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

type Count = (text: string) => Promise<number>;

/** Beginnings of a text that are counted one by one: a longer one may have fewer tokens. */
const beginningsMax = 24;

/** The text up to `tokensMax` tokens, with the beginning of a word that the limit cuts. */
export async function endAtLimit(text: string, tokensMax: number, count: Count): Promise<LimitedAnswer> {
  const tokens = await count(text);
  if (tokens <= tokensMax) return { words: wordsOf(text), tokens, finishReason: 'stop' };
  const start = await startOf(Array.from(text), tokensMax, count);
  return { words: wordsOf(start.text), tokens: start.tokens, finishReason: 'length' };
}

function wordsOf(text: string): readonly string[] {
  return text.match(/\s*\S+|\s+$/g) ?? [];
}

/** The longest beginning with the most tokens up to `tokensMax`, sought where halving leads. */
async function startOf(
  characters: readonly string[],
  tokensMax: number,
  count: Count,
): Promise<{ readonly text: string; readonly tokens: number }> {
  const beginning = (length: number) => characters.slice(0, length).join('');
  let fitting = 0;
  let tooLong = characters.length;
  while (tooLong - fitting > beginningsMax) {
    const middle = Math.floor((fitting + tooLong) / 2);
    if ((await count(beginning(middle))) <= tokensMax) fitting = middle;
    else tooLong = middle;
  }
  let best = { text: '', tokens: 0 };
  for (let length = fitting; length < tooLong; length++) {
    const text = beginning(length);
    const tokens = await count(text);
    if (tokens <= tokensMax && tokens >= best.tokens) best = { text, tokens };
  }
  return best;
}
