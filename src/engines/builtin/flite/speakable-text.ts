/** Rewrites texts for flite: English words for what it misreads, and Latin letters for other scripts. */
import anyAscii from 'any-ascii';

type Rule = readonly [RegExp, string | ((match: string, ...groups: string[]) => string)];
type Table = Readonly<Record<string, string>>;

const lettersMax = 32_000;
/** Eight letters, with the blank after them, for each of a hundred characters. */
const partLettersMax = 799;

/**
 * Rewrites a text as printable ASCII that flite can speak: symbols, addresses and units as words, other scripts in
 * Latin letters, emoji by name. Keeps what flite reads well (numbers, years, `$5.20`, `Dr.`), and blank lines between
 * paragraphs. Linear time; a long result is shortened to 32,000 letters.
 */
export function speakableText(text: string): string {
  const whole = writtenOut(text);
  if (whole.length <= lettersMax) return whole;
  const parts = text.toWellFormed().match(/.{1,100}/gsu) ?? [];
  return parts.map((part) => writtenOut(part).slice(0, partLettersMax)).join(' ');
}

function writtenOut(text: string): string {
  const marked = markBlocks(rewritten(text.toWellFormed(), characters));
  // Normalises full-width forms, ligatures and the like.
  const normal = rewritten(marked, composed).normalize('NFKC');
  return rewritten(normal, [...words, ...scripts, ...asciiWords, ...blanks]).trim();
}

function rewritten(text: string, rules: readonly Rule[]): string {
  return rules.reduce((written, [found, by]) => written.replace(found, by as string), text);
}

/** Whether a text from `speakableText` has anything to speak. */
export function canBeSaid(speakable: string): boolean {
  return /[A-Za-z0-9]/.test(speakable);
}

const powers = table('² squared, ³ cubed');
const greek =
  table(`α alpha, β beta, γ gamma, δ delta, ε epsilon, ζ zeta, θ theta, λ lambda, μ mu, ξ xi, π pi,
  ρ rho, σ sigma, τ tau, φ phi, χ chi, ψ psi, ω omega`);
const symbols = table(`© copyright, ® registered, ° degrees, ± plus or minus, × times, ÷ divided by, ≈ about,
  ≠ is not equal to, ≤ is at most, ≥ is at least, ∞ infinity, √ square root of, ∑ sum of, ∫ integral of, ∈ in, → to,
  ⇒ implies, ← left arrow, ↑ up arrow, ↓ down arrow, ↔ both ways, ‰ per thousand, § section, ¶ paragraph, ★ star,
  ☆ star, ✓ check, ✗ cross, ♪ music, ♫ music`);
const operators = table(
  '-> to, => to, <= is at most, >= is at least, !== is not equal to, != is not equal to',
);
const marks =
  table(String.raw`& and, % percent, + plus, = equals, @ at, / slash, \ backslash, # hash, ~ tilde,
  ^ caret, < is less than, > is greater than, _ underscore, $ dollars`);
const marksInAddresses = { ...marks, ...table('. dot, : colon, - dash, ? question mark') };
/** The plural adds an s to the first word, unless it follows the stroke. */
const units =
  table(`km/h kilometer per hour, m/s meter per second, mph mile per hour, km kilometer, cm centimeter,
  mm millimeter, kg kilogram, mg milligram, ml milliliter, lb pound, lbs pound, oz ounce, ft foot/feet,
  μm micrometer, μg microgram, μs microsecond, ms millisecond, kB kilobyte, KB kilobyte, MB megabyte, GB gigabyte,
  TB terabyte, Hz hertz/hertz, kHz kilohertz/kilohertz, MHz megahertz/megahertz, GHz gigahertz/gigahertz,
  kW kilowatt, kWh kilowatt hour/kilowatt hours, dB decibel, °C degree Celsius, °F degree Fahrenheit, ° degree`);
const currencies = table(`$ dollar, € euro, £ pound, ¥ yen/yen, ₹ rupee, ₩ won/won, ₽ ruble, ₺ lira/lira,
  ₴ hryvnia/hryvnia, ₪ shekel, ₫ dong/dong, ฿ baht/baht, ₦ naira/naira, ₱ peso, ₿ bitcoin, ¢ cent`);
/** Amounts in other currencies are read with a decimal point. */
const hundredths = table('€ cents, £ pence');
const scales = table('k thousand, m million, bn billion, b billion');
/** The dot of these never ends a sentence. flite reads `OK` as Oklahoma. */
const leading = table(`e.g. for example, i.e. that is, vs. versus, approx. approximately, Prof. Professor,
  Gov. Governor, Sen. Senator, Rep. Representative, Rev. Reverend, Gen. General, Col. Colonel, Capt. Captain,
  Lt. Lieutenant, Sgt. Sergeant, Hon. Honorable, Mt. Mount, Fig. Figure, fig. figure, Vol. Volume, vol. volume,
  Apt. Apartment, w/o without, OK okay`);
const beforeNumber = table(`No. number, no. number, Nos. numbers, p. page, pp. pages, # number, Jan. January,
  Feb. February, Mar. March, Apr. April, Jun. June, Jul. July, Aug. August, Sep. September, Sept. September,
  Oct. October, Nov. November, Dec. December`);
/** The dot of these may also end the sentence. */
const closing =
  table(`etc. et cetera, Inc. Incorporated, Ltd. Limited, Corp. Corporation, Co. Company, Jr. Junior,
  Sr. Senior, Ave. Avenue, Blvd. Boulevard, Rd. Road, dept. department, Dept. Department`);

const monthNames = new Intl.DateTimeFormat('en-US', { month: 'long', timeZone: 'UTC' });
const signs = Object.keys(currencies).join('');
const amount = String.raw`\d(?:[\d,]{0,30}\d)?(?:\.\d+)?`;
const inPath = String.raw`[^\s<>"'\x60|\\^{}]`;
const host = String.raw`[\p{L}\p{N}\-]{1,63}(?:\.[\p{L}\p{N}\-]{1,63}){1,8}`;
/** With a scheme, or starting with `www.` */
const url = String.raw`(?<![\p{L}\p{N}])(?i:(?:https?|ftp|wss?)://${inPath}+|www\.${host}(?::\d{1,5})?(?:[/?#]${inPath}*)?)`;
const email = String.raw`(?<![\p{L}\p{N}._%+\-])(?i:mailto:)?[\p{L}\p{N}._%+\-]{1,64}@${host}(?![\p{L}\p{N}])`;
/** `example.com/docs`, `node.js`: lower-case parts, each longer than an initial. Not `e.g.` or `end.The`. */
const dottedName = String.raw`(?<![\p{L}\p{N}.])\p{L}[\p{L}\p{N}\-]{1,62}(?:\.[\p{Ll}\p{N}\-]{2,63}){1,8}(?![\p{L}\p{N}])(?:/${inPath}*)?`;

/** Line ends become `\n`; control characters and characters that nobody sees go. */
const characters: readonly Rule[] = [
  [/\r\n?|[\v\f\u0085\u2028\u2029]/g, '\n'],
  // The zero-width space separates words; other format characters occur inside them.
  [/[\u200b\ufffc\ufffd]|(?![\n])\p{Cc}/gu, ' '],
  [/\p{Cf}|\p{Variation_Selector}|\p{Co}|\p{Cn}/gu, ''],
  [/[^\S\n]/g, ' '],
];

/** Exponents, fractions and marks, which would lose their meaning in normal form. */
const composed: readonly Rule[] = [
  [/(?<=[\p{L}\p{N})])⁻?[⁰¹²³⁴-⁹]+/gu, (power) => ` ${powers[power] ?? `to the power of ${power}`} `],
  [/(?<=\d)(?=[½¼¾⅐-⅞])/g, ' and '],
  [/™/g, ' trademark '],
];

/** For a text with all its characters. Addresses come first, while their marks are unchanged. */
const words: readonly Rule[] = [
  [pattern`${url}`, addressInWords],
  [pattern`${email}`, addressInWords],
  [pattern`${dottedName}`, addressInWords],
  // `192.168.0.1`, `v1.2.3`: flite reads only one of the dots, as a decimal point.
  [/(?<![\p{N}.])\d+(?:\.\d+){2,}(?![\p{N}])/gu, addressInWords],
  // `2026-11-21`, which flite reads digit by digit, like a telephone number.
  [
    /(?<![\d-])(\d{4})-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])(?![\d-])(T(?=\d))?/g,
    (_, year, month, day, time?: string) =>
      `${monthNames.format(Date.UTC(2000, Number(month) - 1))} ${Number(day)}, ${year}${time ? ', ' : ''}`,
  ],
  [/(?<![\d:])(\d{1,2}):([0-5]\d)(?::([0-5]\d)(?:[.,]\d+)?)?(Z?)(?![\d:])/g, timeInWords],
  // Minus signs, which flite drops, ranges, and marks that mean arithmetic between numbers.
  [/[−﹣－]/g, '-'],
  [/(?<=\d) - (?=\d)/g, ' minus '],
  [/(?<=\d)\s?[–—]\s?(?=\d)/g, ' to '],
  [/(?<![\p{L}\p{N}])-\s?(?=[$€£¥₹.]\s?[\d.])/gu, ' minus '],
  [/(?<![\p{L}\p{N}])~(?=\d)/gu, ' about '],
  [/(?<=\d)\s?[*×]\s?(?=\d)/g, ' times '],
  // Signs behind the amount, with a comma before the hundredths, go before it.
  [
    pattern`(?<![\d.,])(${amount})\s?([${signs}])(?!\s?\.?\d)`,
    (_, number, sign) => sign + number.replace(/,(?=\d\d$)/, '.'),
  ],
  [
    pattern`([${signs}])\s?(${amount}|\.\d+)(?:\s?(?i:(thousand|million|billion|trillion|k|m|bn|b))(?![\p{L}\p{N}]))?`,
    amountInWords,
  ],
  [pattern`[${signs.replace('$', '')}]`, (sign) => ` ${counted('', currencies[sign])} `],
  [/(?<!\d)(\d{1,2})'\s?(\d{1,2})(?:"|'')/g, '$1 feet $2 inches'],
  [
    pattern`(?<![\d.,])(\d[\d.,]*)\s?(${anyOf(units)})(?![\p{L}\p{N}/])`,
    (_, number, unit) => counted(number, units[unit]),
  ],
  [/[“”„‟″«»「」『』〝〞]/g, '"'],
  [/[–—―、،]/g, ', '],
  [/[•·‣◦▪●○■□¿¡]/g, ' '],
  [pattern`${anyOf(symbols)}`, (symbol) => ` ${symbols[symbol]} `],
  // Single letters, as in formulas.
  [
    pattern`(?<!\p{Script=Greek})(?i:${anyOf(greek)})(?!\p{Script=Greek})`,
    (letter) => ` ${greek[letter.toLowerCase()] ?? letter} `,
  ],
];

/** The rest in ASCII: emoji by name, other scripts by sound where `any-ascii` knows them. */
const scripts: readonly Rule[] = [
  [
    /[\u{1f1e6}-\u{1f1ff}]{2}/gu,
    (flag) => ` ${Array.from(flag, (letter) => anyAscii(letter)).join(' ')} flag `,
  ],
  [
    /((?!\p{ASCII})\p{Extended_Pictographic})\1*/gu,
    (_, emoji) => ` ${anyAscii(emoji).replace(/[:_]/g, ' ')} `,
  ],
  [/\P{ASCII}+/gu, inLatin],
];

/** For a text in ASCII. Abbreviations that flite knows, such as `Dr.`, stay. */
const asciiWords: readonly Rule[] = [
  [pattern`${abbreviation(leading)}(?![A-Za-z0-9])`, (short) => leading[short] ?? short],
  [pattern`${abbreviation(beforeNumber)}\s?(?=\d)`, (_, short) => `${beforeNumber[short]} `],
  [
    pattern`${abbreviation(closing)}(["')]*(?:\s*$|\s+["'(]*(?=[A-Z])))?`,
    (_, short, end?: string) => `${closing[short]}${end === undefined ? '' : `.${end}`}`,
  ],
  // Runs of marks only decorate, as in Markdown.
  [/([#*=_~|<>^\\+\-/.])\1{2,}/g, (run) => (run.startsWith('.') ? '. ' : ' ')],
  [pattern`${anyOf(operators)}`, (operator) => ` ${operators[operator]} `],
  [/ --? |--/g, ', '],
  // The brackets of a tag are not a comparison.
  [/<(\/?[a-z][^<>\n]{0,200})>/gi, ' $1 '],
  [/(?<=[A-Z])#(?![A-Za-z0-9])/g, ' sharp '],
  [/#(?=[A-Za-z])/g, ' hashtag '],
  [/(?<![A-Za-z0-9])_|_(?![A-Za-z0-9])|~~|[*`[\]{}]/g, ' '],
  [/\|/g, ', '],
  [/[&%+=@\\#~^<>_]|\$(?!\d)|(?<!\d)\/|\/(?!\d)/g, (mark) => ` ${marks[mark]} `],
  [/([,;!?])(?=[A-Za-z])/g, '$1 '],
  [/([a-z]{2})\.(?=[A-Z][a-z])/g, '$1. '],
  [/[^\n\x20-\x7e]/g, ' '],
];

const blanks: readonly Rule[] = [
  [/ +/g, ' '],
  [/(?: ?,){2,}/g, ','],
  [/^[ ,]+/, ''],
  [/ (?=[,.;:!?)]+(?:\s|$))/g, ''],
  // flite reads the first of two numbers with a comma between them digit by digit, unless a dash separates them.
  [/(?<=\d[,;]) (?=["'(]?\d)/g, ' -- '],
  [/ ?\n[ ,]*/g, '\n'],
  [/\n{2,}/g, '\n\n'],
];

/** A row is a written form and, after a blank, its words. */
function table(rows: string): Table {
  const split = (row: string) => [row.replace(/ .*/, ''), row.replace(/^\S+ /, '')];
  return Object.fromEntries(rows.split(/,\s+/).map(split));
}

function anyOf(words: Table): string {
  const longestFirst = Object.keys(words).sort((a, b) => b.length - a.length);
  return longestFirst.map((word) => word.replaceAll('.', String.raw`\.`)).join('|');
}

function pattern(text: TemplateStringsArray, ...parts: readonly string[]): RegExp {
  return new RegExp(String.raw(text, ...parts), 'gu');
}

/** Not within a word, as a group. */
function abbreviation(words: Table): string {
  return `(?<![A-Za-z0-9.])(${anyOf(words)})`;
}

/** A bullet, a list number or a heading mark, with the blank after it. */
const itemStart = /^\s*(?:[-*+•‣◦▪·]|#{1,6}|\d{1,3}[.)])\s+/;

/**
 * Keeps the line ends that matter for speech: between paragraphs (`\n\n`), around list items and headings, and after
 * lines that are shorter than a wrapped line (`\n`). Other line ends become blanks.
 */
function markBlocks(text: string): string {
  return text
    .split(/\n[^\S\n]*\n\s*/)
    .map((paragraph) => joinLines(paragraph.split('\n')))
    .join('\n\n');
}

function joinLines(lines: readonly string[]): string {
  const width = Math.max(...lines.map((line) => line.length));
  const endOf = (line: string, next: string) => {
    if (itemStart.test(next) || /^\s*#{1,6}\s/.test(line)) return '\n';
    const firstWord = /^\s*\S*/.exec(next)?.[0].trim() ?? '';
    return line.length + 1 + firstWord.length <= width ? '\n' : ' ';
  };
  // Marks are not spoken, but the number of a list item is.
  const spoken = (line: string) => line.replace(itemStart, (mark) => (/\d/.test(mark) ? mark : ''));
  return lines
    .map((line, at) => spoken(line) + (at + 1 < lines.length ? endOf(line, lines[at + 1] ?? '') : ''))
    .join('');
}

function inLatin(run: string): string {
  const ascii = anyAscii(run);
  if (/^[\p{Script=Latin}\p{M}]+$/u.test(run) || !/[A-Za-z]/.test(ascii)) return ascii;
  // `any-ascii` writes Chinese and Korean as `NiHao`, a capital for each syllable; separate words keep the syllables.
  return ` ${ascii.replace(/(?<=[a-z])(?=[A-Z])|(?<=[.,!?;:])(?=\S)/g, ' ')} `;
}

/** Without the scheme. Punctuation at the end belongs to the sentence; a slash at the end is dropped. */
function addressInWords(address: string): string {
  const end = /[).,;:!?\]]+$/.exec(address)?.[0] ?? '';
  const body = address.slice(0, address.length - end.length).replace(/^(?:[a-z]+:\/\/|mailto:)|\/$/gi, '');
  const words = body.replace(/[./:@\-_~?=&#%+]/g, (mark) => ` ${marksInAddresses[mark]} `);
  return `${words.trim()}${end} `;
}

/** flite reads most times well, but none with seconds, and it omits `00:00`. */
function timeInWords(_: string, hour: string, minute: string, second = '', utc = ''): string {
  const inWords = (digits: string, unit: string) => (digits ? counted(String(Number(digits)), unit) : '');
  const all = `${inWords(hour, 'hour')} ${inWords(minute, 'minute')} ${inWords(second, 'second')}`;
  const time = second === '' && Number(hour) > 0 ? `${hour}:${minute}` : all.trim();
  return time + (utc && ' U T C');
}

/** Dollars are left to flite, which does not know scales. */
function amountInWords(_: string, sign: string, digits: string, scale?: string): string {
  const [number, currency] = [digits.replace(/^\./, '0.'), currencies[sign]];
  if (scale !== undefined) return counted(`${number} ${scales[scale.toLowerCase()] ?? scale}`, currency);
  const [whole = '', decimals = ''] = number.split('.');
  if (sign === '$') return sign + number;
  if (hundredths[sign] === undefined || decimals.length !== 2) return counted(number, currency);
  return counted(whole, currency) + (decimals === '00' ? '' : ` ${Number(decimals)} ${hundredths[sign]}`);
}

function counted(number: string, words = ''): string {
  const [one = '', many = one.replace(/^\w+/, '$&s')] = words.split('/');
  return `${number} ${number === '1' ? one : many}`.trim();
}
