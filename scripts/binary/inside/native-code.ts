/**
 * Loads SQLite's native code. A system loads such code from files only, so it is written to one: in the data folder, which
 * whoever opens a database can write to, and from where nobody else can exchange it; else in a new folder for temporary
 * files, which is gone as soon as the code is loaded.
 */
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

/** Set by the build: the name has the hash of the content. */
declare const nativeFileName: string;

const folderName = 'native';
const writableByOthers = 0o022;

let loaded: object | undefined;

/** The addon, loaded once a process. Throws where no folder is fit for it, and says what to do. */
export function loadNativeCode(dataDir: string): object {
  loaded ??= loadFromData(dataDir) ?? loadFromTemporary(dataDir);
  return loaded;
}

/** Undefined where the folder belongs to somebody else, cannot be written to, or is on a file system without execution. */
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
    // Whatever is wrong with this folder, the other may do, and where it does not, its error tells of both.
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

/** Whether a folder belongs to this user, and no other can change what is in it. A link is none. */
function isOurs(stats: Stats): boolean {
  const isPrivate = stats.uid === process.geteuid?.() && (stats.mode & writableByOthers) === 0;
  return isPrivate && stats.isDirectory();
}

/** Compared whole: a file that was changed or cut short is written anew. */
function hasCode(file: string): boolean {
  const stats = lstatSync(file, { throwIfNoEntry: false });
  return stats?.isFile() === true && readFileSync(file).equals(code());
}

/** In one move, so that another process never meets half of it. What other versions left is removed. */
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
  return Buffer.from(getRawAsset(nativeFileName));
}

function load(file: string): object {
  const module: { exports: object } = { exports: {} };
  process.dlopen(module, file, constants.dlopen.RTLD_NOW);
  return module.exports;
}
