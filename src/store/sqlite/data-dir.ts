import { chmodSync, closeSync, openSync } from 'node:fs';
import { join } from 'node:path';
import { makeFolder } from '../../files/make-folder.ts';

/**
 * The path of a file in a data folder, both made where they are missing and readable by their owner only. SQLite gives
 * its companion files the mode of the database, so that must be private from the start.
 */
export function privateFile(dataDir: string, name: string): string {
  makeFolder(dataDir, 0o700);
  const path = join(dataDir, name);
  closeSync(openSync(path, 'a', 0o600));
  chmodSync(path, 0o600);
  return path;
}
