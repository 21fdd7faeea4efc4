import anyAscii from 'any-ascii';

/** Replaces lone surrogates, control characters and invisible characters. Line ends become `\n`. */
export function tidyCharacters(text: string): string {
  return (
    text
      .toWellFormed()
      .replace(/\r\n?|[\v\f\u0085\u2028\u2029]/g, '\n')
      // The zero-width space separates words; other format characters occur inside them.
      .replace(/[\u200b\ufffc\ufffd]|(?![\n])\p{Cc}/gu, ' ')
      .replace(/\p{Cf}|\p{Variation_Selector}|\p{Co}|\p{Cn}/gu, '')
      .replace(/[^\S\n]/g, ' ')
  );
}

const exponents = new Map([
  ['²', ' squared '],
  ['³', ' cubed '],
]);
const superscript = '[⁰¹²³⁴⁵⁶⁷⁸⁹]';
const exponentPattern = new RegExp(`(?<=[\\p{L}\\p{N})])(?:⁻?${superscript}+)`, 'gu');

/**
 * Normalises full-width forms, ligatures and the like (NFKC), after replacing characters that would lose their meaning
 * by words: exponents, fractions, trademark signs.
 */
export function composeCharacters(text: string): string {
  return text
    .replace(exponentPattern, (power) => exponents.get(power) ?? ` to the power of ${power} `)
    .replace(/(?<=\d)(?=[½¼¾⅐-⅞])/g, ' and ')
    .replace(/™/g, ' trademark ')
    .replace(/℠/g, ' service mark ')
    .normalize('NFKC')
    .replace(/⁄/g, '/');
}

/** Writes the rest in ASCII: emoji by name, other scripts by sound where `any-ascii` knows them. */
export function transliterate(text: string): string {
  return text
    .replace(/([\u{1f1e6}-\u{1f1ff}])([\u{1f1e6}-\u{1f1ff}])/gu, (_, first: string, second: string) => {
      return ` ${anyAscii(first)} ${anyAscii(second)} flag `;
    })
    .replace(/((?![\p{ASCII}])\p{Extended_Pictographic})\1*/gu, (_, emoji: string) => ` ${emojiName(emoji)} `)
    .replace(/\P{ASCII}+/gu, transliterateRun);
}

function emojiName(emoji: string): string {
  return anyAscii(emoji).replace(/[:_]/g, ' ');
}

function transliterateRun(run: string): string {
  const ascii = anyAscii(run);
  if (/^[\p{Script=Latin}\p{M}]+$/u.test(run)) return ascii;
  // `any-ascii` writes Chinese and Korean as `NiHao`, a capital for each syllable; separate words keep the syllables.
  const spaced = ascii.replace(/(?<=[a-z])(?=[A-Z])/g, ' ').replace(/([.,!?;:])(?=\S)/g, '$1 ');
  return ` ${spaced} `;
}
