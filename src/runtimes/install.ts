/** Installs runtimes from archives. They are hashed before they are unpacked, and appear wholly or not at all. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  createWriteStream,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { join, relative, sep } from 'node:path';
import { text } from 'node:stream/consumers';
import { pipeline } from 'node:stream/promises';
import { pathToFileURL } from 'node:url';
import { makeFolder } from '../files/make-folder.ts';
import { hashOf } from '../models/download.ts';
import { openSource } from '../models/source.ts';
import type { Archive, Runtime } from './runtime.ts';

/** A file beside the unpacked ones, with their hashes. */
const record = 'installed.json';

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
  const root = join(folder, name);
  let installed: Installed;
  try {
    installed = JSON.parse(readFileSync(join(root, record), 'utf8'));
  } catch {
    return undefined;
  }
  const found = await hashesIn(root, signal);
  const names = new Set([...Object.keys(installed.files), ...Object.keys(found)]);
  return [...names].sort().flatMap((file) => {
    if (found[file] === installed.files[file]) return [];
    if (found[file] === undefined) return [`${file} is missing.`];
    const flaw = installed.files[file] === undefined ? 'was not installed' : 'has another content';
    return [`${file} ${flaw}.`];
  });
}

async function bring(archive: Archive, into: string, begun: string, signal?: AbortSignal): Promise<void> {
  const file = join(begun, 'archive');
  const url = /^https?:\/\//.test(archive.from) ? archive.from : pathToFileURL(archive.from).href;
  const source = await openSource(url, { signal });
  try {
    await pipeline(source.body, createWriteStream(file, { mode: 0o600 }));
  } finally {
    source.close();
  }
  const sha256 = await hashOf(file, signal);
  if (sha256 !== archive.sha256) {
    throw new Error(
      `${archive.from} has the SHA-256 ${sha256} instead of ${archive.sha256}. Nothing was installed.`,
    );
  }
  mkdirSync(into, { recursive: true, mode: 0o700 });
  await unpack(file, into);
  rmSync(file);
}

/** The first folder of an archive has its version in its name, so it is left out. */
async function unpack(file: string, into: string): Promise<void> {
  const args = ['-xf', file, '-C', into, '--strip-components=1', '--no-same-owner', '--no-same-permissions'];
  const tar = spawn('tar', args, { stdio: ['ignore', 'ignore', 'pipe'] });
  const [[status], errors] = await Promise.all([once(tar, 'close'), text(tar.stderr)]);
  if (status !== 0)
    throw new Error(`The archive could not be unpacked: ${errors.trim().split('\n').at(-1)}.`);
}

/** @throws Error if a link leads out of the folder, or anything is neither file, folder nor link */
async function hashesIn(root: string, signal?: AbortSignal): Promise<Record<string, string>> {
  const hashes: Record<string, string> = {};
  const inside = realpathSync(root) + sep;
  for (const path of readdirSync(root, { recursive: true, encoding: 'utf8' }).sort()) {
    const file = join(root, path);
    const kind = lstatSync(file);
    if (kind.isDirectory() || path === record) continue;
    const target = realpathSync(file);
    if (!target.startsWith(inside) || !(kind.isFile() || kind.isSymbolicLink())) {
      throw new Error(`${relative(root, file)} leads out of its folder, or is no file.`);
    }
    hashes[path] = await hashOf(target, signal);
  }
  return hashes;
}
