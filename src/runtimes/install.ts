/** Installs runtimes from archives. They are hashed before they are unpacked, and appear wholly or not at all. */
import {
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  realpathSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { join, sep } from 'node:path';
import { pathToFileURL } from 'node:url';
import { makeFolder, requireSpace } from '../files/folders.ts';
import { download, hashOf } from '../models/download.ts';
import { ModelError } from '../models/manifest.ts';
import { sizeAt } from '../models/source.ts';
import type { Archive, Runtime } from './runtime.ts';
import { unpack } from './unpack.ts';

/** A file beside the unpacked ones, with their hashes. */
const record = 'installed.json';

const archiveBytesMax = 2 * 1024 ** 3;

interface Installed {
  readonly archives: readonly Archive[];
  /** SHA-256 of each file by its path in the folder. */
  readonly files: Readonly<Record<string, string>>;
}

/**
 * Replaces the runtime in `folder/<name>`.
 * @returns its program or folder
 * @throws Error whose message says what to do
 */
export async function installRuntime(
  runtime: Runtime,
  archives: readonly Archive[],
  folder: string,
  signal?: AbortSignal,
): Promise<string> {
  makeFolder(folder, 0o700);
  const begun = mkdtempSync(join(folder, '.new-'));
  try {
    const root = join(begun, runtime.name);
    for (const archive of archives) await bring(archive, join(root, archive.into ?? ''), begun, signal);
    if (runtime.find({ folder: begun, path: '' }) === undefined) {
      throw new Error(`The archive has no ${runtime.program} in its first folder. Nothing was installed.`);
    }
    const installed: Installed = { archives, files: await hashesIn(root, signal) };
    writeFileSync(join(root, record), JSON.stringify(installed, null, 2));
    const target = join(folder, runtime.name);
    rmSync(target, { recursive: true, force: true });
    renameSync(root, target);
  } finally {
    rmSync(begun, { recursive: true, force: true });
  }
  return runtime.find({ folder, path: '' }) ?? '';
}

/**
 * Compares an installed runtime with the hashes of its installation.
 * @returns what is wrong, in sentences; undefined if Parley has not installed it
 */
export async function verifyRuntime(
  { name }: Runtime,
  folder: string,
  signal?: AbortSignal,
): Promise<string[] | undefined> {
  const installed = installedIn(folder, name);
  if (installed === undefined) return undefined;
  const found = await hashesIn(join(folder, name), signal);
  const names = new Set([...Object.keys(installed.files), ...Object.keys(found)]);
  return [...names].sort().flatMap((file) => {
    if (found[file] === installed.files[file]) return [];
    if (found[file] === undefined) return [`${file} is missing.`];
    const flaw = installed.files[file] === undefined ? 'was not installed' : 'has another content';
    return [`${file} ${flaw}.`];
  });
}

/** The archives that `installRuntime` has used; undefined if Parley has not installed the runtime. */
export function installedArchives({ name }: Runtime, folder: string): readonly Archive[] | undefined {
  return installedIn(folder, name)?.archives;
}

function installedIn(folder: string, name: string): Installed | undefined {
  try {
    return JSON.parse(readFileSync(join(folder, name, record), 'utf8'));
  } catch {
    return undefined;
  }
}

async function bring(archive: Archive, into: string, begun: string, signal?: AbortSignal): Promise<void> {
  const file = join(begun, 'archive');
  const { from: name } = archive;
  const url = /^https?:\/\//.test(name) ? name : pathToFileURL(name).href;
  const { bytes } = await sizeAt(url, { signal });
  try {
    if (bytes > archiveBytesMax) throw new Error(`it has more than ${archiveBytesMax} bytes`);
    requireSpace(begun, bytes);
    const sha256 = await download({ name, bytes, urls: [url] }, file, { signal });
    if (sha256 !== archive.sha256) throw new Error(`its SHA-256 is ${sha256} instead of ${archive.sha256}`);
    mkdirSync(into, { recursive: true, mode: 0o700 });
    await unpack(file, into, signal);
  } catch (error) {
    if (signal?.aborted || error instanceof ModelError || !(error instanceof Error)) throw error;
    throw new Error(`Nothing was installed from ${name}: ${error.message}.`, { cause: error });
  }
  rmSync(file);
}

/** @throws Error if a link leads out of the folder, or anything is neither file, folder nor link */
async function hashesIn(root: string, signal?: AbortSignal): Promise<Record<string, string>> {
  const hashes: Record<string, string> = {};
  const inside = realpathSync(root) + sep;
  for (const path of filesBelow(root)) {
    const file = join(root, path);
    const kind = lstatSync(file);
    if (path === record) continue;
    const target = realpathSync(file);
    if (!target.startsWith(inside) || !(kind.isFile() || kind.isSymbolicLink())) {
      throw new Error(`${path} leads out of its folder, or is no file.`);
    }
    // A link to a folder is what it says: the folder's files have hashes of their own.
    const isFolder = lstatSync(target).isDirectory();
    hashes[path] = isFolder ? `link to ${readlinkSync(file)}` : await hashOf(target, signal);
  }
  return hashes;
}

/** The paths of everything but folders, in order. Node's own recursion follows links. */
function filesBelow(root: string, below = ''): string[] {
  const found = readdirSync(join(root, below), { withFileTypes: true }).flatMap((entry) => {
    const path = join(below, entry.name);
    return entry.isDirectory() ? filesBelow(root, path) : [path];
  });
  return found.sort();
}
