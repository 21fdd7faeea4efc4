/** Counts o200k_base tokens as OpenAI's tiktoken does, with special tokens such as `<|endoftext|>` as plain text. */
import { brotliDecompressSync } from 'node:zlib';
import { packedTokens, tokenCount } from './o200k-vocabulary.ts';

/** The words of a text, as tiktoken's pattern splits it. Its `\s` is Unicode's white space, JavaScript's is not. */
const words = wordPattern();

/** The rank of each token, by its bytes as Latin-1 letters. */
const ranks = readRanks();

const noToken = 0x7fffffff;
/** Where the parts of a word start, and the rank of each part joined with the next. */
let starts = new Int32Array(512);
let joined = new Int32Array(512);

export function countTokens(text: string): number {
  let tokens = 0;
  for (const [word] of text.matchAll(words)) {
    const bytes = isAscii(word) ? word : Buffer.from(word).toString('latin1');
    tokens += ranks.has(bytes) ? 1 : countParts(bytes);
  }
  return tokens;
}

/** Byte pair encoding: joins the two neighbours that make the token of the lowest rank, until no two make one. */
function countParts(bytes: string): number {
  let parts = bytes.length;
  if (starts.length < parts + 2) {
    starts = new Int32Array(2 * parts + 2);
    joined = new Int32Array(2 * parts + 2);
  }
  const rank = (part: number): number =>
    part + 1 < parts ? (ranks.get(bytes.slice(starts[part], starts[part + 2])) ?? noToken) : noToken;
  for (let part = 0; part <= parts; part++) starts[part] = part;
  for (let part = 0; part < parts; part++) joined[part] = rank(part);
  for (let best = lowest(parts); best >= 0; best = lowest(parts)) {
    starts.copyWithin(best + 1, best + 2, parts + 1);
    joined.copyWithin(best + 1, best + 2, parts);
    parts--;
    joined[best] = rank(best);
    if (best > 0) joined[best - 1] = rank(best - 1);
  }
  return parts;
}

/** The first of the parts whose join has the lowest rank; -1 where no two make a token. */
function lowest(parts: number): number {
  let best = -1;
  let bestRank = noToken;
  for (let part = 0; part < parts; part++) {
    const rank = joined[part] ?? noToken;
    if (rank >= bestRank) continue;
    best = part;
    bestRank = rank;
  }
  return best;
}

function isAscii(word: string): boolean {
  for (let at = 0; at < word.length; at++) if (word.charCodeAt(at) > 0x7f) return false;
  return true;
}

function readRanks(): ReadonlyMap<string, number> {
  const file = brotliDecompressSync(Buffer.from(packedTokens, 'base64'));
  const letters = file.toString('latin1', tokenCount);
  const read = new Map<string, number>();
  for (let rank = 0, start = 0; rank < tokenCount; rank++) {
    const end = start + (file[rank] ?? 0);
    read.set(letters.slice(start, end), rank);
    start = end;
  }
  return read;
}

function wordPattern(): RegExp {
  const upper = String.raw`[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]`;
  const lower = String.raw`[\p{Ll}\p{Lm}\p{Lo}\p{M}]`;
  const sign = String.raw`[^\r\n\p{L}\p{N}]?`;
  const contraction = "(?i:'s|'t|'re|'ve|'m|'ll|'d)?";
  const blank = String.raw`\p{White_Space}`;
  return new RegExp(
    [
      `${sign}${upper}*${lower}+${contraction}`,
      `${sign}${upper}+${lower}*${contraction}`,
      String.raw`\p{N}{1,3}`,
      String.raw` ?[^${blank}\p{L}\p{N}]+[\r\n/]*`,
      String.raw`${blank}*[\r\n]+`,
      String.raw`${blank}+(?!\P{White_Space})`,
      `${blank}+`,
    ].join('|'),
    'gu',
  );
}
