/** What a caller sent, as an error may repeat it. */

/** Unicode code points. */
const repeatedCharactersMax = 200;

/** The beginning of a key, or of what was meant to be one, and its secret. */
const secretPattern = /(p[ka])_[0-9a-z]{8,}/gi;

/** Control and format characters, line ends and halves of surrogate pairs: in a terminal or a log they would act or hide. */
const unseenPattern = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu;

/** In backquotes: at most 200 characters of it, without a key's secret, and with what cannot be seen escaped as `\u{…}`. */
export function quote(text: string): string {
  // Of a longer text no more is looked at: a character has at most two units, and a secret that is cut is one still.
  const characters = Array.from(text.slice(0, 2 * repeatedCharactersMax).replace(secretPattern, '$1_…'));
  const kept = characters.slice(0, repeatedCharactersMax).join('');
  const isCut = characters.length > repeatedCharactersMax || text.length > 2 * repeatedCharactersMax;
  return `\`${kept.replace(unseenPattern, escaped)}${isCut ? '…' : ''}\``;
}

function escaped(character: string): string {
  return `\\u{${(character.codePointAt(0) ?? 0).toString(16)}}`;
}
