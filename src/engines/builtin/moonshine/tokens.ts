/** Moonshine's vocabulary: each token is preceded by its length in one byte, or in two from 128 on. */

export type Vocabulary = readonly Uint8Array[];

export function readVocabulary(bytes: Uint8Array): Vocabulary {
  const tokens: Uint8Array[] = [];
  for (let at = 0; at < bytes.length; ) {
    const first = bytes[at++] ?? 0;
    const length = first < 128 ? first : (bytes[at++] ?? 0) * 128 + first - 128;
    tokens.push(bytes.subarray(at, at + length));
    at += length;
  }
  return tokens;
}

/** The text of tokens. Characters may be spread over several tokens; `▁` stands for a space. */
export function textOf(vocabulary: Vocabulary, tokens: readonly number[]): string {
  const bytes = Buffer.concat(tokens.map((token) => vocabulary[token] ?? new Uint8Array(0)));
  return bytes.toString('utf8').replaceAll('▁', ' ').trim();
}
