/** Words for symbols outside ASCII. Other symbols are transliterated. */
const symbolWords: Readonly<Record<string, string>> = {
  '©': 'copyright',
  '®': 'registered',
  '°': 'degrees',
  '±': 'plus or minus',
  '×': 'times',
  '÷': 'divided by',
  '≈': 'about',
  '≠': 'is not equal to',
  '≤': 'is at most',
  '≥': 'is at least',
  '∞': 'infinity',
  '√': 'square root of',
  '∑': 'sum of',
  '∫': 'integral of',
  '∈': 'in',
  '→': 'to',
  '⇒': 'implies',
  '←': 'left arrow',
  '↑': 'up arrow',
  '↓': 'down arrow',
  '↔': 'both ways',
  '‰': 'per thousand',
  '§': 'section',
  '¶': 'paragraph',
  '★': 'star',
  '☆': 'star',
  '✓': 'check',
  '✗': 'cross',
  '♪': 'music',
  '♫': 'music',
};

/** Typographic forms of ASCII marks. */
const plainMarks: readonly (readonly [RegExp, string])[] = [
  [/[‘’‚‛ʼʻ′´]/g, "'"],
  [/[“”„‟″«»「」『』〝〞]/g, '"'],
  [/[‐‑‒]/g, '-'],
  [/[–—―]/g, ', '],
  [/[•·‣◦▪●○■□]/g, ' '],
  [/[。｡]/g, '. '],
  [/[、،]/g, ', '],
  [/؟/g, '? '],
  [/[¿¡]/g, ' '],
];

const greekNames: Readonly<Record<string, string>> = {
  α: 'alpha',
  β: 'beta',
  γ: 'gamma',
  δ: 'delta',
  ε: 'epsilon',
  ζ: 'zeta',
  θ: 'theta',
  λ: 'lambda',
  μ: 'mu',
  ξ: 'xi',
  π: 'pi',
  ρ: 'rho',
  σ: 'sigma',
  τ: 'tau',
  φ: 'phi',
  χ: 'chi',
  ψ: 'psi',
  ω: 'omega',
};

const symbolPattern = new RegExp(`[${Object.keys(symbolWords).join('')}]`, 'gu');

/** Writes symbols outside ASCII as words, and names single Greek letters, as in formulas. */
export function wordsForSymbols(text: string): string {
  const plain = plainMarks.reduce((written, [mark, ascii]) => written.replace(mark, ascii), text);
  return plain
    .replace(symbolPattern, (symbol) => ` ${symbolWords[symbol]} `)
    .replace(/(?<!\p{Script=Greek})\p{Script=Greek}(?!\p{Script=Greek})/gu, greekName);
}

function greekName(letter: string): string {
  const name = greekNames[letter.toLowerCase()];
  return name === undefined ? letter : ` ${name} `;
}

const markWords: Readonly<Record<string, string>> = {
  '&': 'and',
  '%': 'percent',
  '+': 'plus',
  '=': 'equals',
  '@': 'at',
  '/': 'slash',
  '\\': 'backslash',
  '#': 'hash',
  '~': 'tilde',
  '^': 'caret',
  '<': 'is less than',
  '>': 'is greater than',
  _: 'underscore',
  $: 'dollars',
};

/**
 * Writes ASCII marks with a meaning as words, and drops those that only decorate, as in Markdown: `**bold**`, `_so_`,
 * `----`, `| a | b |`. The result has letters, digits, `$` before a number, `/` in fractions and dates, and
 * punctuation.
 */
export function wordsForMarks(text: string): string {
  return (
    text
      .replace(/([#*=_~|<>^\\+\-/.])\1{2,}/g, (run) => (run.startsWith('.') ? '. ' : ' '))
      .replace(/[-=]>/g, ' to ')
      .replace(/<=/g, ' is at most ')
      .replace(/>=/g, ' is at least ')
      .replace(/!==?/g, ' is not equal to ')
      .replace(/ --? |--/g, ', ')
      // The brackets of a tag are not a comparison.
      .replace(/<(\/?[a-z][^<>\n]{0,200})>/gi, ' $1 ')
      .replace(/(?<=[A-Z])#(?![A-Za-z0-9])/g, ' sharp ')
      .replace(/#(?=[A-Za-z])/g, ' hashtag ')
      .replace(/(?<![A-Za-z0-9])_|_(?![A-Za-z0-9])|~~|[*`[\]{}]/g, ' ')
      .replace(/\|/g, ', ')
      .replace(/[&%+=@\\#~^<>_]|\$(?!\d)|(?<!\d)\/|\/(?!\d)/g, (mark) => ` ${markWords[mark]} `)
      .replace(/([,;!?])(?=[A-Za-z])/g, '$1 ')
      .replace(/([a-z]{2})\.(?=[A-Z][a-z])/g, '$1. ')
      .replace(/[^\n\x20-\x7e]/g, ' ')
  );
}

/** Words for minus signs, which flite drops, for ranges, and for marks that mean arithmetic between numbers. */
export function wordsForArithmetic(text: string): string {
  return text
    .replace(/[−﹣－]/g, '-')
    .replace(/(?<=\d) - (?=\d)/g, ' minus ')
    .replace(/(?<=\d)\s?[–—]\s?(?=\d)/g, ' to ')
    .replace(/(?<![\p{L}\p{N}])-\s?(?=[$€£¥₹.]\s?[\d.])/gu, ' minus ')
    .replace(/(?<![\p{L}\p{N}])~(?=\d)/gu, ' about ')
    .replace(/(?<=\d)\s?[*×]\s?(?=\d)/g, ' times ');
}
