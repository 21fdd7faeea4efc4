import { statfsSync } from 'node:fs';

/** Left free for the database. */
const spareBytes = 64 * 1_048_576;

/** Bytes of the disk of a folder that may be written. */
export function freeBytes(folder: string): number {
  const { bavail, bsize } = statfsSync(folder);
  return bavail * bsize;
}

export function hasSpace(folder: string, bytes: number): boolean {
  return bytes === 0 || bytes + spareBytes <= freeBytes(folder);
}

/** @throws Error if the disk has no space for so many bytes */
export function requireSpace(folder: string, bytes: number): void {
  if (hasSpace(folder, bytes)) return;
  const [needed, free] = [bytes, freeBytes(folder)].map((count) => Math.ceil(count / 1_000_000));
  throw new Error(`it needs ${needed} MB, and the disk of ${folder} has ${free} MB`);
}
