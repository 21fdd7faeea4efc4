import { distance } from 'fastest-levenshtein';

/** A suggestion differs by at most this many letters, and by at most half the letters of the name. */
const differentLettersMax = 4;
/** Shorter names are part of too many others. */
const sharedLettersMin = 4;
/** Longer names get no suggestion, as comparing takes time for each of their letters and each candidate. */
const nameLettersMax = 200;

/** The lower-case words of a name in any spelling: `bodyBytesMax`, `body-bytes-max`, `BODY_BYTES_MAX`. */
export function nameWords(name: string): string[] {
  return name
    .replace(/([a-z0-9])([A-Z])/g, '$1 $2')
    .split(/[^A-Za-z0-9]+/)
    .filter((word) => word !== '')
    .map((word) => word.toLowerCase());
}

/**
 * The candidate that `name` probably means; undefined if none is near. Ignores spelling style and the order of words:
 * `MAX_CONNECTIONS` is `connectionsMax`.
 */
export function didYouMean(name: string, candidates: readonly string[]): string | undefined {
  if (name.length > nameLettersMax) return undefined;
  const limit = Math.min(Math.floor(plain(name).length / 2), differentLettersMax);
  const ranked = rank(name, candidates, (candidate) => candidate);
  const [nearest] = ranked;
  if (nearest !== undefined && nearest.letters <= limit) return nearest.candidate;
  return ranked.find(({ candidate }) => isPart(plain(name), plain(candidate)))?.candidate;
}

/** All candidates, the most similar names first. */
export function nearestFirst<T>(
  name: string,
  candidates: readonly T[],
  nameOf: (candidate: T) => string,
): T[] {
  return rank(name.slice(0, nameLettersMax), candidates, nameOf).map(({ candidate }) => candidate);
}

function rank<T>(name: string, candidates: readonly T[], nameOf: (candidate: T) => string) {
  return candidates
    .map((candidate) => ({ candidate, letters: differentLetters(name, nameOf(candidate)) }))
    .sort((a, b) => a.letters - b.letters);
}

const plain = (name: string) => nameWords(name).join('');
const sorted = (name: string) => nameWords(name).sort().join('');

function differentLetters(a: string, b: string): number {
  return Math.min(distance(plain(a), plain(b)), distance(sorted(a), sorted(b)));
}

function isPart(a: string, b: string): boolean {
  return Math.min(a.length, b.length) >= sharedLettersMin && (a.includes(b) || b.includes(a));
}
