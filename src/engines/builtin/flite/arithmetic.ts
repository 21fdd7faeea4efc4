/** Words for minus signs that flite drops, for ranges, and for marks that are arithmetic only between numbers. */
export function wordsForArithmetic(text: string): string {
  return text
    .replace(/[−﹣－]/g, '-')
    .replace(/(?<=\d) - (?=\d)/g, ' minus ')
    .replace(/(?<=\d)\s?[–—]\s?(?=\d)/g, ' to ')
    .replace(/(?<![\p{L}\p{N}])-\s?(?=[$€£¥₹.]\s?[\d.])/gu, ' minus ')
    .replace(/(?<![\p{L}\p{N}])~(?=\d)/gu, ' about ')
    .replace(/(?<=\d)\s?[*×]\s?(?=\d)/g, ' times ');
}
