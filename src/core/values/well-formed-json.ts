/** An escape of a lone surrogate, as `JSON.stringify` writes it, or any other one. */
const escapes = /\\(?:ud[89a-f][0-9a-f]{2}|.)/g;
const escapedSurrogate = '\\ud';

/** `JSON.stringify` for other servers, of which many cannot read lone surrogates: U+FFFD is in their place. */
export function wellFormedJson(value: unknown): string {
  const text = JSON.stringify(value);
  if (!text.includes(escapedSurrogate)) return text;
  return text.replace(escapes, (found) => (found.startsWith(escapedSurrogate) ? '\ufffd' : found));
}
