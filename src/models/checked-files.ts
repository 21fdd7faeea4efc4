/** Remembers which files had the content of their hashes, so that a start does not read gigabytes. */
import { mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { hashOf } from './download.ts';
import { ModelError, type ModelFile } from './manifest.ts';
import type { ModelStore } from './model-store.ts';

type Hashed = Pick<ModelFile, 'sha256'>;

/**
 * Compares files that have changed since they were last compared, in any way that the file system notes, with their
 * hashes.
 * @param signal ends the reading of all starts
 * @throws ModelError that names a file which is missing or has another content
 */
export async function checkFiles(store: ModelStore, id: string, signal?: AbortSignal): Promise<void> {
  store.resolve(id);
  for (const file of store.manifest(id).files) {
    const path = store.path(id, file.name);
    const mark = markOf(path);
    if (mark === remembered(store, file)) continue;
    if ((await sharedHashOf(path, mark, signal)) !== file.sha256) {
      const advice = `Run \`parley models rm ${id}\` and \`parley models pull ${id}\`.`;
      throw new ModelError(
        `${file.name} of the model ${id} has another content than its manifest says. ${advice}`,
      );
    }
    try {
      write(store, file, mark);
    } catch {
      // On a disk that is full or read-only, the next start compares again.
    }
  }
}

/** Hashes that are being computed. A start that was given up goes on with its own, and the next one awaits the same. */
const hashing = new Map<string, Promise<string>>();

function sharedHashOf(path: string, mark: string, signal: AbortSignal | undefined): Promise<string> {
  const key = `${path} ${mark}`;
  const hash = hashing.get(key) ?? hashOf(path, signal).finally(() => hashing.delete(key));
  hashing.set(key, hash);
  return hash;
}

/** To be called when a file was hashed and has its name. */
export function remember(store: ModelStore, file: Hashed): void {
  write(store, file, markOf(store.blob(file)));
}

/** A write, a copy and another file under the name change it. */
function markOf(path: string): string {
  const { ino, size, mtimeNs, ctimeNs } = statSync(path, { bigint: true });
  return [ino, size, mtimeNs, ctimeNs].join(' ');
}

function write(store: ModelStore, file: Hashed, mark: string): void {
  const record = recordOf(store, file);
  mkdirSync(dirname(record), { recursive: true, mode: 0o700 });
  writeFileSync(record, mark, { mode: 0o600 });
}

function remembered(store: ModelStore, file: Hashed): string | undefined {
  try {
    return readFileSync(recordOf(store, file), 'utf8');
  } catch {
    return undefined;
  }
}

function recordOf(store: ModelStore, file: Hashed): string {
  return join(store.root, 'checked', basename(store.blob(file)));
}
