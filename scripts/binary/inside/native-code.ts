/**
 * Loads SQLite's native code. The system loads native code from files only, so it is written to the data folder, which the
 * user of a database can write and others cannot. Where that fails, it goes to a temporary folder that is deleted after loading.
 */
import { createHash } from 'node:crypto';
import {
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  type Stats,
  statSync,
  writeFileSync,
} from 'node:fs';
import { constants, tmpdir } from 'node:os';
import { join } from 'node:path';
import { getRawAsset } from 'node:sea';
import { zstdDecompressSync } from 'node:zlib';

/** Defined by the build. Contains the start of the SHA-256 of the content. */
declare const nativeFileName: string;

const folderName = 'native';
const writableByOthers = 0o022;

let loaded: object | undefined;

/** The addon, loaded once per process. Throws an error with advice if it can be loaded from no folder. */
export function loadNativeCode(dataDir: string): object {
  loaded ??= loadFromData(dataDir) ?? loadFromTemporary(dataDir);
  return loaded;
}

/** Undefined if the folder belongs to another user, is not writable, or is mounted noexec. */
function loadFromData(dataDir: string): object | undefined {
  const folder = join(dataDir, folderName);
  try {
    if (!isOurs(statSync(dataDir))) return undefined;
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    if (!isOurs(lstatSync(folder))) return undefined;
    const file = join(folder, nativeFileName);
    if (!hasCode(file)) replaceCode(folder, file);
    return load(file);
  } catch {
    // The temporary folder may work. If not, its error names both folders.
    return undefined;
  }
}

function loadFromTemporary(dataDir: string): object {
  let folder: string | undefined;
  try {
    folder = mkdtempSync(join(tmpdir(), 'parley-'));
    const file = join(folder, nativeFileName);
    writeFileSync(file, code(), { mode: 0o600, flag: 'wx' });
    return load(file);
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new Error(
      `SQLite's code can be loaded neither from ${join(dataDir, folderName)} nor from ${tmpdir()} (${reason}). ` +
        'Set TMPDIR to a folder that this user can write to, on a file system that is not mounted noexec.',
      { cause: error },
    );
  } finally {
    if (folder !== undefined) rmSync(folder, { recursive: true, force: true });
  }
}

/** Whether this is a folder, not a link, that belongs to this user and that no other user can write to. */
function isOurs(stats: Stats): boolean {
  const isPrivate = stats.uid === process.geteuid?.() && (stats.mode & writableByOthers) === 0;
  return isPrivate && stats.isDirectory();
}

/** Whether the file has the content of its name's hash: a changed or truncated file is replaced. */
function hasCode(file: string): boolean {
  const stats = lstatSync(file, { throwIfNoEntry: false });
  if (stats?.isFile() !== true) return false;
  const hash = createHash('sha256').update(readFileSync(file)).digest('hex');
  return nativeFileName.includes(hash.slice(0, 16));
}

/** Renames a complete file, so that other processes never load half of it. Removes the code of other versions. */
function replaceCode(folder: string, file: string): void {
  const incoming = `${file}.${process.pid}`;
  rmSync(incoming, { force: true });
  writeFileSync(incoming, code(), { mode: 0o600, flag: 'wx' });
  renameSync(incoming, file);
  for (const name of readdirSync(folder)) {
    if (name !== nativeFileName) rmSync(join(folder, name), { recursive: true, force: true });
  }
}

function code(): Buffer {
  return zstdDecompressSync(Buffer.from(getRawAsset(`${nativeFileName}.zst`)));
}

function load(file: string): object {
  const module: { exports: object } = { exports: {} };
  process.dlopen(module, file, constants.dlopen.RTLD_NOW);
  return module.exports;
}
