/** Flaws of a key that was pasted or piped badly, for messages that help but never show the key. */

/** A header carries printable ASCII, and a key has no spaces. */
const outOfPlace = /[^\x21-\x7e]/;
const names = new Map([
  ['\n', 'a line break'],
  ['\r', 'a line break'],
  ['\t', 'a tab'],
  [' ', 'a space'],
]);

/**
 * Why no header can carry a key, in words that follow "The key"; undefined if one can.
 * @param key without surrounding white space
 */
export function unsendable(key: string): string | undefined {
  const at = key.search(outOfPlace);
  if (at < 0) return key === '' ? 'is empty' : undefined;
  const character = key.charAt(at);
  const code = character.charCodeAt(0).toString(16).toUpperCase().padStart(4, '0');
  return `has ${names.get(character) ?? `the character U+${code}`} after its first ${at} characters`;
}

/** Flaws of a Parley key, which has only letters and digits, in words like those of `unsendable`. */
export function keyFlaw(key: string): string | undefined {
  if (/^(["'`]).*\1$/.test(key)) return 'is in quotation marks';
  if (/^<.*>$/.test(key)) return 'is in angle brackets';
  if (/(%0[ad]|\\[nr])$/i.test(key)) return 'ends with a written-out line break';
  if (/^pi_/.test(key)) return 'is an invitation: open its link in a browser';
  if (/^ek_/.test(key)) return 'opens realtime sessions alone, until it expires';
  return unsendable(key);
}
