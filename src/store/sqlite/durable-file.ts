/** Files that must be whole on the disk before they are relied on. */
import { closeSync, fsyncSync, openSync } from 'node:fs';

/** Makes sure that a file, or the names in a folder, are on the disk. */
export function sync(path: string): void {
  const file = openSync(path, 'r');
  try {
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
}
