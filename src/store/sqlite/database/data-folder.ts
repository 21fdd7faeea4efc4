/** The files of a data folder. */
import { chmodSync, closeSync, existsSync, fsyncSync, openSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { makeFolder } from '../../../files/folders.ts';

/**
 * Creates a file that only its owner can read, and the folder if it is missing. Returns the path. SQLite gives its
 * companion files the mode of the database.
 */
export function privateFile(dataDir: string, name: string): string {
  makeFolder(dataDir, 0o700);
  const path = join(dataDir, name);
  // Closing a file drops this process's locks on it, so an existing file is not opened.
  if (!existsSync(path)) closeSync(openSync(path, 'a', 0o600));
  chmodSync(path, 0o600);
  return path;
}

/** Returns once a file, or the list of names in a folder, is on the disk. */
export function sync(path: string): void {
  const file = openSync(path, 'r');
  try {
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
}

/** The files that this process has open, by their paths. */
export class OpenFiles {
  readonly #ids: Map<string, string>;

  /** @param ids the ids of another `OpenFiles` */
  constructor(ids: ReadonlyMap<string, string> = new Map()) {
    this.#ids = new Map(ids);
  }

  /** Paths with the ids of their files. */
  get ids(): ReadonlyMap<string, string> {
    return this.#ids;
  }

  add(path: string): void {
    const id = idOf(path);
    if (id !== undefined) this.#ids.set(path, id);
  }

  /** Whether each path still leads to its file. False once a file was removed, moved or replaced. */
  areInPlace(): boolean {
    for (const [path, id] of this.#ids) if (idOf(path) !== id) return false;
    return true;
  }
}

function idOf(path: string): string | undefined {
  const file = statSync(path, { throwIfNoEntry: false });
  return file && `${file.dev}:${file.ino}`;
}
