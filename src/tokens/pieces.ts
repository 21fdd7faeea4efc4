/**
 * Finds places where a text can be cut and its pieces counted separately. The tokenizer merges the bytes of each word
 * in time that grows with the square of the word's length, so the length must be bounded.
 */

/**
 * Maximum UTF-16 code units passed to the tokenizer at once. Shorter texts are never cut. At 512 the slowest text (one
 * letter of three bytes, repeated) takes 3 us a code unit, natural text 0.2 to 0.4 us.
 */
export const pieceUnitsMax = 512;

/**
 * Places that no word of the tokenizer spans in any context: after a run of digits; after a letter not followed by a
 * letter, a mark or an apostrophe; before a blank that does not follow a blank. Line breaks do not count, as the
 * tokenizer joins them to punctuation.
 */
const safePlace =
  /(?<=\p{N})(?=\P{N})|(?<=\p{L})(?=[^\p{L}\p{M}'])|(?<=\P{White_Space})(?=[^\P{White_Space}\r\n])/uy;

/**
 * The end of the piece of `text` that starts at `start`: the last safe place within `unitsMax` code units. If the last
 * `pieceUnitsMax` have none (a run of letters, signs or blanks), the piece ends between two characters, which may
 * change the count by a token or two.
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
