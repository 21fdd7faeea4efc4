/** Words for the marks inside an address. */
const markNames: Readonly<Record<string, string>> = {
  '.': 'dot',
  '/': 'slash',
  ':': 'colon',
  '@': 'at',
  '-': 'dash',
  _: 'underscore',
  '~': 'tilde',
  '?': 'question mark',
  '=': 'equals',
  '&': 'and',
  '#': 'hash',
  '%': 'percent',
  '+': 'plus',
};

const host = String.raw`[\p{L}\p{N}-]{1,63}(?:\.[\p{L}\p{N}-]{1,63}){1,8}`;
const rest = String.raw`(?::\d{1,5})?(?:[/?#][^\s<>"'\x60|\\^{}]*)?`;
/** URLs with a scheme, or starting with `www.`. */
const urlPattern = new RegExp(
  String.raw`(?<![\p{L}\p{N}])(?:(?:https?|ftp|wss?):\/\/[^\s<>"'\x60|\\^{}]+|www\.${host}${rest})`,
  'giu',
);
const emailPattern = new RegExp(
  String.raw`(?<![\p{L}\p{N}._%+-])(?:mailto:)?[\p{L}\p{N}._%+-]{1,64}@${host}(?![\p{L}\p{N}])`,
  'giu',
);
/** `example.com/docs`, `node.js`, `main.ts`: lower-case parts, each longer than an initial. Not `e.g.` or `end.The`. */
const dottedPattern =
  /(?<![\p{L}\p{N}.])\p{L}[\p{L}\p{N}-]{1,62}(?:\.[\p{Ll}\p{N}-]{2,63}){1,8}(?![\p{L}\p{N}])(?:\/[^\s<>"'\x60|\\^{}]*)?/gu;
/** `192.168.0.1`, `v1.2.3`: flite reads only one of the dots, as a decimal point. */
const dottedNumberPattern = /(?<![\p{N}.])\d+(?:\.\d+){2,}(?![\p{N}])/gu;

/** Writes URLs, e-mail addresses, host and file names, and dotted numbers as words: `example dot com slash docs`. */
export function wordsForAddresses(text: string): string {
  return text
    .replace(urlPattern, (url) => inWords(url.replace(/^[a-z]+:\/\//i, '')))
    .replace(emailPattern, (email) => inWords(email.replace(/^mailto:/i, '')))
    .replace(dottedPattern, inWords)
    .replace(dottedNumberPattern, inWords);
}

/** Punctuation at the end belongs to the sentence; a slash at the end is dropped. */
function inWords(address: string): string {
  const end = /[).,;:!?\]]+$/.exec(address)?.[0] ?? '';
  const body = address.slice(0, address.length - end.length).replace(/\/$/, '');
  const words = body.replace(/[./:@\-_~?=&#%+]/g, (mark) => ` ${markNames[mark] ?? ''} `);
  return `${words.trim()}${end} `;
}
