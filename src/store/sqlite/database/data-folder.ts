/** The files of a data folder. */
import { chmodSync, closeSync, existsSync, fsyncSync, openSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { makeFolder } from '../../../files/make-folder.ts';

/**
 * Creates a file that only its owner can read, and the folder if it is missing. Returns the path. SQLite gives its
 * companion files the mode of the database.
 */
export function privateFile(dataDir: string, name: string): string {
  makeFolder(dataDir, 0o700);
  const path = join(dataDir, name);
  // Closing a file drops the locks that this process has on it, so an existing one is not opened.
  if (!existsSync(path)) closeSync(openSync(path, 'a', 0o600));
  chmodSync(path, 0o600);
  return path;
}

/** Returns once a file, or the names in a folder, are on the disk. */
export function sync(path: string): void {
  const file = openSync(path, 'r');
  try {
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
}

/** Files that this process has open, as their paths named them. */
export class OpenFiles {
  readonly #ids: Map<string, string>;

  /** @param ids of another `OpenFiles` */
  constructor(ids: ReadonlyMap<string, string> = new Map()) {
    this.#ids = new Map(ids);
  }

  /** Paths with what identifies their files. */
  get ids(): ReadonlyMap<string, string> {
    return this.#ids;
  }

  add(path: string): void {
    const id = idOf(path);
    if (id !== undefined) this.#ids.set(path, id);
  }

  /** Whether each path still names its file. False once one was removed, moved or replaced. */
  areInPlace(): boolean {
    for (const [path, id] of this.#ids) if (idOf(path) !== id) return false;
    return true;
  }
}

function idOf(path: string): string | undefined {
  const file = statSync(path, { throwIfNoEntry: false });
  return file && `${file.dev}:${file.ino}`;
}
