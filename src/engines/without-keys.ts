/** Removes keys from an upstream's words, which may repeat the key that it was called with. */

const removed = '[key]';
/** Long enough to be a key. */
const longWord = /[\w.~+/=-]{12,}/g;
/** Ids of requests, which the operator needs. */
const requestId = /^(req_[\da-z]+|[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12})$/i;
const keyPrefix = /^(sk|pk|rk|gsk|xai|hf|ghp|key|api|bearer)[-_]|^AIza/i;

/** @param ownKey the key of the engine */
export function withoutKeys(text: string, ownKey: string | undefined): string {
  const others = ownKey ? text.replaceAll(ownKey, removed) : text;
  return others.replace(longWord, (word) => (isKeyLike(word) ? removed : word));
}

/** Names of errors have words of letters: `context_length_exceeded`. */
function isKeyLike(word: string): boolean {
  if (requestId.test(word)) return false;
  return keyPrefix.test(word) || word.split(/[^A-Za-z\d]/).some(isRandom);
}

/** A run of characters that looks like a key: it has digits, more capitals than a word, or more letters. */
function isRandom(run: string): boolean {
  const [digits, capitals] = [/\d/g, /[A-Z]/g].map((kind) => run.match(kind)?.length ?? 0) as [
    number,
    number,
  ];
  const isOneCase = capitals === 0 || capitals === run.length;
  if (digits > 0) return run.length >= 12 && digits < run.length;
  return isOneCase ? run.length > 24 : run.length >= 12 && capitals * 3 > run.length;
}
