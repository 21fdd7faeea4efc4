import { closeSync, fsyncSync, openSync, renameSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';

/** Replaces a file with a JSON document, so that after a crash it has the old content or the new one. */
export function writeDurably(path: string, document: unknown): void {
  const unfinished = `${path}.part`;
  writeFileSync(unfinished, `${JSON.stringify(document, null, 2)}\n`, { mode: 0o600, flush: true });
  moveDurably(unfinished, path);
}

/** Renames a synced file; afterwards its new name is on disk. */
export function moveDurably(from: string, to: string): void {
  renameSync(from, to);
  const folder = openSync(dirname(to), 'r');
  try {
    fsyncSync(folder);
  } finally {
    closeSync(folder);
  }
}
