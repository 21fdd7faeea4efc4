/** Swaps the first and the second person: `I lost my keys` becomes `you lost your keys`. */

const pairs: ReadonlyMap<string, string> = new Map([
  ['i am', 'you are'],
  ['i was', 'you were'],
  ['am i', 'are you'],
  ['was i', 'were you'],
  ['you are', 'I am'],
  ['you were', 'I was'],
  ['are you', 'am I'],
  ['were you', 'was I'],
]);

const words: ReadonlyMap<string, string> = new Map([
  ['i', 'you'],
  ['me', 'you'],
  ['my', 'your'],
  ['mine', 'yours'],
  ['myself', 'yourself'],
  ["i'm", 'you are'],
  ['im', 'you are'],
  ["i've", 'you have'],
  ["i'd", 'you would'],
  ["i'll", 'you will'],
  ['your', 'my'],
  ['yours', 'mine'],
  ['yourself', 'myself'],
  ["you're", 'I am'],
  ["you've", 'I have'],
  ["you'd", 'I would'],
  ["you'll", 'I will'],
]);

/** `you` is a subject after one of these words. */
const beforeSubject = new Set(
  'that if because when while whether why how what where and but or do does did can could will would should may might must have had'.split(
    ' ',
  ),
);

/** `you` is a subject before one of these words. */
const afterSubject = new Set(
  "can can't cannot could couldn't will won't would should shouldn't may might must do don't did didn't have haven't had never always really just think know say said want need like love hate".split(
    ' ',
  ),
);

/** Limits of a reflected phrase, in words and in UTF-16 code units. */
const wordsMax = 16;
const unitsMax = 160;

/** The swapped phrase; only the beginning of a long one. */
export function reflect(phrase: string): string {
  const said = phrase.slice(0, unitsMax).trimEnd().split(' ', wordsMax);
  const turned: string[] = [];
  for (let at = 0; at < said.length; at++) {
    const word = (said[at] ?? '').toLowerCase();
    const next = said[at + 1]?.toLowerCase();
    const pair = pairs.get(`${word} ${next}`);
    if (pair !== undefined) {
      turned.push(pair);
      at++;
    } else if (word === 'you') {
      turned.push(isSubject(said[at - 1]?.toLowerCase(), next) ? 'I' : 'me');
    } else {
      turned.push(words.get(word) ?? said[at] ?? '');
    }
  }
  return turned.join(' ');
}

function isSubject(before: string | undefined, after: string | undefined): boolean {
  if (after === undefined) return false;
  return before === undefined || beforeSubject.has(before) || afterSubject.has(after);
}
