import { distance } from 'fastest-levenshtein';
import { nameWords } from './setting-path.ts';

/** Letters that a word may differ by, at most half of its own: beyond that it is another word. */
const lettersMax = 4;
/** Shorter names are part of too many others to say anything. */
const sharedLettersMin = 4;

/**
 * The candidate that was probably meant by `name`, or undefined where none is near. Spelling style and the order of
 * words do not count: `MAX_CONNECTIONS` is `connectionsMax`.
 */
export function didYouMean(name: string, candidates: readonly string[]): string | undefined {
  const limit = Math.min(Math.floor(plain(name).length / 2), lettersMax);
  const ranked = candidates
    .map((candidate) => ({ candidate, letters: difference(name, candidate) }))
    .sort((a, b) => a.letters - b.letters);
  const [nearest] = ranked;
  if (nearest !== undefined && nearest.letters <= limit) return nearest.candidate;
  return ranked.find(({ candidate }) => containsOther(plain(name), plain(candidate)))?.candidate;
}

const plain = (name: string) => nameWords(name).join('');
const sorted = (name: string) => nameWords(name).sort().join('');

function difference(a: string, b: string): number {
  return Math.min(distance(plain(a), plain(b)), distance(sorted(a), sorted(b)));
}

function containsOther(a: string, b: string): boolean {
  return Math.min(a.length, b.length) >= sharedLettersMin && (a.includes(b) || b.includes(a));
}
