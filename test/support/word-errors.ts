/** The words as they are spoken, without the punctuation and capitals that only some recognisers write. */
export const wordsOf = (text: string): readonly string[] =>
  text
    .toLowerCase()
    .replace(/\bmr\b/g, 'mister')
    .match(/[a-z0-9']+/g) ?? [];

/** The least insertions, deletions and replacements of words that make one text of another. */
export function wordErrors(wanted: string, got: string): number {
  const [a, b] = [wordsOf(wanted), wordsOf(got)];
  let row = Array.from({ length: b.length + 1 }, (_, at) => at);
  for (const [i, word] of a.entries()) {
    const next = [i + 1];
    for (const [j, other] of b.entries()) {
      next.push(Math.min((row[j] ?? 0) + Number(word !== other), (row[j + 1] ?? 0) + 1, (next[j] ?? 0) + 1));
    }
    row = next;
  }
  return row.at(-1) ?? 0;
}
