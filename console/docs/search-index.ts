/** Finds entries of the index that `scripts/console/search-index.ts` writes. */

/** Title, place, address, and the other words in lower case. */
export type SearchEntry = readonly [title: string, place: string, path: string, words: string];

const resultsMax = 20;

/** The entries that contain all words of the query, the best first. A word may be the beginning of a longer one. */
export function found(entries: readonly SearchEntry[], query: string): readonly SearchEntry[] {
  const asked = wordsOf(query);
  if (asked.length === 0) return [];
  return entries
    .map((entry) => ({ entry, score: scoreOf(entry, asked) }))
    .filter(({ score }) => score > 0)
    .sort((a, b) => b.score - a.score)
    .slice(0, resultsMax)
    .map(({ entry }) => entry);
}

/** Zero if a word is missing. */
function scoreOf([title, place, path, words]: SearchEntry, asked: readonly string[]): number {
  const texts = [
    { words: wordsOf(`${title} ${operationId(path)}`), weight: 12 },
    { words: wordsOf(place), weight: 5 },
    { words: words.split(' '), weight: 2 },
  ];
  let sum = 0;
  for (const word of asked) {
    const best = Math.max(...texts.map((text) => text.weight * likeness(text.words, word)));
    if (best === 0) return 0;
    sum += best;
  }
  // Among equals, an operation comes first, then the shorter title.
  return sum + (operationId(path) === '' ? 0 : 1) - Math.min(title.length, 100) / 200;
}

/** Empty for other entries. */
function operationId(path: string): string {
  return /^\/docs\/api\/(\w+)$/.exec(path)?.[1] ?? '';
}

function likeness(words: readonly string[], word: string): number {
  if (words.includes(word)) return 2;
  return words.some((one) => one.startsWith(word)) ? 1 : 0;
}

/** The parts of camel case also count, and so does the whole. */
function wordsOf(text: string): readonly string[] {
  const split = text.replace(/([a-z])([A-Z])/g, '$1 $2');
  return [...new Set([...wordsIn(text), ...(split === text ? [] : wordsIn(split))])];
}

function wordsIn(text: string): readonly string[] {
  return text.toLowerCase().match(/[\p{L}\p{N}_]+/gu) ?? [];
}
