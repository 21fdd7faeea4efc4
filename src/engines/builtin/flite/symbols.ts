/** Symbols outside ASCII that mean a word. Others are left to transliteration. */
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

/** Names symbols outside ASCII, and Greek letters that stand alone, as in formulas. */
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
 * Names ASCII marks where they mean something, and drops them where they only decorate, as in Markdown: `**bold**`,
 * `_so_`, `----`, `| a | b |`. What is left has letters, digits, `$` before a number, `/` in fractions and dates, and
 * the marks of sentences.
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
      // A tag's brackets are not a comparison.
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
