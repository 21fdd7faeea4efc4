/**
 * Writes `src/tokens/o200k-vocabulary.ts` from the file that OpenAI publishes: a line a token, its bytes in Base64 and its rank.
 *
 *   node scripts/write-vocabulary.ts o200k_base.tiktoken
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { brotliCompressSync, constants } from 'node:zlib';

const lines = readFileSync(process.argv[2] ?? '', 'utf8')
  .trimEnd()
  .split('\n');
const tokens = lines.map((line, at) => {
  const [base64 = '', rank] = line.split(' ');
  if (Number(rank) !== at) throw new Error(`Line ${at + 1} has the rank ${rank}.`);
  return Buffer.from(base64, 'base64');
});
const lengths = Buffer.from(tokens.map(({ length }) => length));
const packed = brotliCompressSync(Buffer.concat([lengths, ...tokens]), {
  params: { [constants.BROTLI_PARAM_QUALITY]: 11, [constants.BROTLI_PARAM_LGWIN]: 24 },
});
writeFileSync(
  'src/tokens/o200k-vocabulary.ts',
  `/** OpenAI's vocabulary o200k_base (MIT), written by \`scripts/write-vocabulary.ts\`. */
export const tokenCount = ${tokens.length};
/** Brotli in Base64: the length of each token in the order of ranks, a byte each, then the bytes of all tokens. */
export const packedTokens: string = '${packed.toString('base64')}';
`,
);
