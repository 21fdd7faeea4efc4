/** Who and what a request is for, as its client names it: an end user of the key, and tags. */
import { createHash } from 'node:crypto';
import { bounds } from './bounds.ts';

export interface Labels {
  readonly endUser?: string | undefined;
  /** A text, or a list of texts. */
  readonly tags?: unknown;
}

/** The name as records keep it: without control characters, cut if it is long. Undefined for none. */
export function shortName(name: string, { maxLength }: { readonly maxLength: number }): string | undefined {
  const plain = name
    .slice(0, 8 * maxLength)
    .toWellFormed()
    .replace(/\p{Cc}+/gu, ' ')
    .trim();
  return [...plain].slice(0, maxLength).join('').trim() || undefined;
}

/** The tags in alphabetical order, separated by commas; undefined for none. Further tags than a record keeps are left out. */
export function tagList(tags: unknown): string | undefined {
  const { maxItems } = bounds.tags;
  const texts =
    typeof tags === 'string'
      ? tags.split(',', 16 * maxItems)
      : Array.isArray(tags)
        ? tags.slice(0, 16 * maxItems)
        : [];
  const names = texts.flatMap((text: unknown) =>
    typeof text === 'string' ? (shortName(text.replaceAll(',', ' '), bounds.tag) ?? []) : [],
  );
  return [...new Set(names)].slice(0, maxItems).sort().join(',') || undefined;
}

/** Stands for an end user of a key where amounts are counted. Of the same length for every name, and tells nothing of it. */
export function endUserId(keyId: string, name = ''): string {
  return `usr_${createHash('sha256').update(`${keyId}\0${name}`).digest('hex').slice(0, 32)}`;
}
