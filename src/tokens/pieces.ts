/**
 * Where a text may be cut so that its pieces are counted apart. The tokenizer first splits a text into words, then
 * merges the bytes of each word in time that grows with the square of its length; so the length must be bounded.
 */

/**
 * Most UTF-16 code units that the tokenizer is given in one go. A text of this size or less is never cut. At 512 the
 * slowest text (one letter of three bytes, over and over) takes 3 us a code unit, natural text 0.2 to 0.4 us.
 */
export const pieceUnitsMax = 512;

/**
 * Places that no word of the tokenizer spans, whatever stands around them: after a digit's run, after a letter that
 * neither a letter, a mark nor an apostrophe follows, and before a blank that does not follow another. A cut there
 * leaves the count as it is. (A line break is left out of the third: the tokenizer joins it to punctuation.)
 */
const safePlace = /(?<=\p{N})(?=\P{N})|(?<=\p{L})(?=[^\p{L}\p{M}'])|(?<=\S)(?=[^\S\r\n])/uy;

/**
 * The end of the piece of `text` that begins at `start`: at most `unitsMax` code units on, at the last safe place
 * within reach. Where the last `pieceUnitsMax` units have none (a run of letters, signs or blanks without a break), the
 * piece ends between two characters, and the count of the pieces may differ from that of the whole by a token or two.
 */
export function endOfPiece(text: string, start: number, unitsMax: number): number {
  const furthest = start + unitsMax;
  if (furthest >= text.length) return text.length;
  const nearest = Math.max(start, furthest - pieceUnitsMax);
  for (let place = furthest; place > nearest; place--) {
    if (isSafe(text, place)) return place;
  }
  return splitsPair(text, furthest) && furthest - 1 > start ? furthest - 1 : furthest;
}

function isSafe(text: string, place: number): boolean {
  if (splitsPair(text, place)) return false;
  safePlace.lastIndex = place;
  return safePlace.test(text);
}

/** Whether `place` lies between the two halves of a surrogate pair. */
function splitsPair(text: string, place: number): boolean {
  const before = text.charCodeAt(place - 1);
  const after = text.charCodeAt(place);
  return before >= 0xd800 && before <= 0xdbff && after >= 0xdc00 && after <= 0xdfff;
}
