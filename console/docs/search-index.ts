/** Finds entries of the index that `scripts/console/search-index.ts` writes. */

/** Title, place, address, and the other words in lower case. */
export type SearchEntry = readonly [title: string, place: string, path: string, words: string];

const resultsMax = 20;

/** Words of questions that say nothing about what is looked for. */
const fillers: ReadonlySet<string> = new Set(
  'a an and are be can did do does for from get have how i if in is it me mean my not of on or should that the there this to was we what when where which why will with you your'.split(
    ' ',
  ),
);
/** A question of more words may have one that is nowhere. */
const strictWordsMax = 2;

/**
 * The entries that contain all words of the query, the best first. A word may be the beginning of a longer one, or another form of it.
 * Of a question, only the words that say something count.
 */
export function found(entries: readonly SearchEntry[], query: string): readonly SearchEntry[] {
  const all = wordsOf(query);
  const telling = all.filter((word) => !fillers.has(word));
  const asked = telling.length === 0 ? all : telling;
  if (asked.length === 0) return [];
  const strict = ranked(entries, asked, 0);
  return strict.length > 0 || asked.length <= strictWordsMax ? strict : ranked(entries, asked, 1);
}

function ranked(entries: readonly SearchEntry[], asked: readonly string[], missingMax: number) {
  return entries
    .map((entry) => ({ entry, score: scoreOf(entry, asked, missingMax) }))
    .filter(({ score }) => score > 0)
    .sort((a, b) => b.score - a.score)
    .slice(0, resultsMax)
    .map(({ entry }) => entry);
}

/** Few people look for a message of the schemas, unless they write its name in camel case. */
const rpcFactor = 0.15;

/** Zero if more words are missing. */
function scoreOf(
  [title, place, path, words]: SearchEntry,
  asked: readonly string[],
  missingMax: number,
): number {
  const texts = [
    { words: wordsOf(`${title} ${operationId(path)}`), weight: 12 },
    { words: wordsOf(place), weight: 5 },
    { words: words.split(' '), weight: 2 },
  ];
  const scores = asked.map((word) =>
    Math.max(...texts.map((text) => text.weight * likeness(text.words, word))),
  );
  if (scores.filter((score) => score === 0).length > missingMax) return 0;
  const isNamed = asked.length > 1 && asked[0] === title.toLowerCase();
  const isRpc = path.startsWith('/docs/rpcs') && !isNamed;
  const sum = scores.reduce((a, b) => a + b) * (isRpc ? rpcFactor : 1);
  // Among equals, an operation comes first, then the shorter title.
  return sum === 0 ? 0 : sum + (operationId(path) === '' ? 0 : 1) - Math.min(title.length, 100) / 200;
}

/** Empty for other entries. */
function operationId(path: string): string {
  return /^\/docs\/api\/(\w+)$/.exec(path)?.[1] ?? '';
}

/** Another form of a word has about this many other letters at its end, such as `fail` and `failed`. */
const endingMax = 2;

function likeness(words: readonly string[], word: string): number {
  if (words.includes(word)) return 2;
  const stem = word.replace(/(?<=.{4})(?:ing|ed|es|s|ure)$/, '');
  const longer = words.filter((one) => one.startsWith(stem));
  if (longer.length === 0) return 0;
  return longer.some((one) => one.length <= stem.length + endingMax) ? 1.9 : 1;
}

/** The parts of camel case also count, and so does the whole. */
function wordsOf(text: string): readonly string[] {
  const split = text.replace(/([a-z])([A-Z])/g, '$1 $2');
  return [...new Set([...wordsIn(text), ...(split === text ? [] : wordsIn(split))])];
}

function wordsIn(text: string): readonly string[] {
  return text.toLowerCase().match(/[\p{L}\p{N}_]+/gu) ?? [];
}
