/** Quotes a caller's text for error messages. */

/** Maximum Unicode code points that are quoted. */
const repeatedCharactersMax = 200;

/** The prefix of a key, or of a mistyped one, and its secret. */
const secretPattern = /(p[ka])_[0-9a-z]{8,}|(?<![a-z])(ek)_[\w.-]{40,}/gi;

/** Invisible characters: control and format characters, line ends, lone surrogates. */
const unseenPattern = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu;

/** In backquotes: at most 200 characters, without secrets of keys, and with invisible characters escaped as `\u{…}`. */
export function quote(text: string): string {
  // A character has at most two UTF-16 units, so a longer prefix is never needed. A secret cut here still matches the
  // pattern.
  const characters = Array.from(text.slice(0, 2 * repeatedCharactersMax).replace(secretPattern, '$1$2_…'));
  const kept = characters.slice(0, repeatedCharactersMax).join('');
  const isCut = characters.length > repeatedCharactersMax || text.length > 2 * repeatedCharactersMax;
  return `\`${kept.replace(unseenPattern, escaped)}${isCut ? '…' : ''}\``;
}

function escaped(character: string): string {
  return `\\u{${(character.codePointAt(0) ?? 0).toString(16)}}`;
}
