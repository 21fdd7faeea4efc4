/** Changes of the local models. Only one runs at a time in a data folder. */

import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { basename, dirname, join, relative } from 'node:path';
import { pathToFileURL } from 'node:url';
import Sqlite from 'better-sqlite3';
import * as z from 'zod';
import { freeBytes, hasSpace, makeFolder } from '../files/folders.ts';
import { systemCode } from '../files/reason.ts';
import { renameDurably, replaceFile } from '../files/replace-file.ts';
import { remember } from './checked-files.ts';
import { type DownloadOptions, download, hashOf } from './download.ts';
import { ModelError, type ModelFile, type ModelManifest } from './manifest.ts';
import { type ModelStore, sizeOf } from './model-store.ts';

export interface PullOptions extends DownloadOptions {
  /** Asks the operator about a licence that is not permissive. Throws unless it is accepted. */
  readonly askLicence: (licence: ModelManifest['licence']) => Promise<void>;
  /** Called before the first byte is pulled. */
  readonly onStart?: (bytesMissing: number, bytesFree: number) => void;
}

export interface Pulled {
  /** Bytes that were not there before. */
  readonly bytesPulled: number;
}

/**
 * Runs a change while no other process changes the models. The system releases the lock when the process ends.
 * @throws ModelError if another one runs, or the disk refuses
 */
export async function changeModels<Result>(
  store: ModelStore,
  change: () => Promise<Result>,
): Promise<Result> {
  for (const folder of ['manifests', 'blobs', 'files', 'partial', 'checked'])
    makeFolder(join(store.root, folder), 0o700);
  const lock = new Sqlite(join(store.root, 'lock'), { timeout: 0 });
  try {
    lock.exec('begin exclusive');
    return await change();
  } catch (error) {
    if (error instanceof Sqlite.SqliteError && error.code.startsWith('SQLITE_BUSY')) {
      throw new ModelError(`Another command changes the models in ${store.root}. Wait until it has ended.`);
    }
    if (!['ENOSPC', 'EDQUOT'].includes(systemCode(error) ?? '')) throw error;
    throw new ModelError(
      `The disk of ${store.root} is full. What has arrived is kept: free space, then repeat the command.`,
      error,
    );
  } finally {
    lock.close();
  }
}

/**
 * Brings the missing files of a model, and checks those that are there. To be called in `changeModels`.
 * @throws ModelError if a file cannot be had; what has arrived is resumed by the next call
 */
export async function pull(
  store: ModelStore,
  manifest: ModelManifest,
  options: PullOptions,
): Promise<Pulled> {
  await acceptLicence(store, manifest.licence, () => options.askLicence(manifest.licence));
  writeDocument(store.manifestFile(manifest.id), manifest);
  const missing = await missingFiles(store, manifest, options.signal);
  const bytesMissing = missing.reduce((sum, { bytes }) => sum + bytes, 0);
  const bytesFree = checkSpace(store, manifest, missing);
  options.onStart?.(bytesMissing, bytesFree);
  const archives = join(store.root, 'partial');
  for (const file of missing) {
    const partial = partialOf(store, file);
    const urls = file.urls.map((url) => derived(store, manifest, url));
    await download({ ...file, urls }, partial, { ...options, archives });
    renameDurably(partial, store.blob(file));
    remember(store, file);
  }
  link(store, manifest);
  removeUnused(store);
  return { bytesPulled: bytesMissing };
}

/** Removes a model. Files that others have stay. To be called in `changeModels`. @throws ModelError if it is not known */
export function remove(store: ModelStore, id: string): void {
  const manifest = store.manifestFile(id);
  if (!existsSync(manifest)) throw new ModelError(`There is no local model ${id}.`);
  rmSync(store.path(id), { recursive: true, force: true });
  rmSync(manifest);
  removeUnused(store);
}

/** @returns for `derived:`, the URL of a file with what Parley makes of an earlier file of the model */
function derived(store: ModelStore, { id, files }: ModelManifest, url: string | readonly string[]) {
  if (typeof url !== 'string' || !url.startsWith('derived:')) return url;
  const [kind = '', ...name] = url.slice('derived:'.length).split('/');
  const make = makers[kind];
  const from = files.find((file) => file.name === name.join('/'));
  if (make === undefined || from === undefined || sizeOf(store.blob(from)) === undefined)
    throw new ModelError(`The manifest ${id} has no earlier file for ${url}.`);
  const path = join(store.root, 'partial', 'derived');
  writeFileSync(path, make(readFileSync(store.blob(from))));
  return pathToFileURL(path).href;
}

/** The lines of sherpa-onnx's `tokens.txt` from Moonshine's `tokenizer.bin`, where each token has its length before it. */
function moonshineTokens(bytes: Buffer): string {
  const lines: string[] = [];
  for (let at = 0; at < bytes.length; ) {
    const first = bytes.readUInt8(at++);
    const length = first < 128 ? first : bytes.readUInt8(at++) * 128 + first - 128;
    lines.push(`${bytes.toString('base64', at, at + length)} ${lines.length}\n`);
    at += length;
  }
  return lines.join('');
}

/** The lines of `tokens.txt` from the vocabulary in Kokoro's `config.json`. */
function kokoroTokens(bytes: Buffer): string {
  const { vocab } = z.object({ vocab: z.record(z.string(), z.int()) }).parse(JSON.parse(bytes.toString()));
  return Object.entries(vocab)
    .map(([token, number]) => `${token} ${number}\n`)
    .join('');
}

const makers: Readonly<Record<string, (from: Buffer) => string>> = {
  'moonshine-tokens': moonshineTokens,
  'kokoro-tokens': kokoroTokens,
};

export function partialOf(store: ModelStore, file: Pick<ModelFile, 'sha256'>): string {
  return join(store.root, 'partial', basename(store.blob(file)));
}

/** Files of a hash that is not there yet, each hash once. Removes blobs of another content than their name says. */
async function missingFiles(store: ModelStore, { files }: ModelManifest, signal: AbortSignal | undefined) {
  const byHash = new Map(files.map((file) => [file.sha256, file]));
  for (const file of byHash.values()) {
    const blob = store.blob(file);
    if (sizeOf(blob) === undefined) continue;
    if ((await hashOf(blob, signal)) === file.sha256) {
      byHash.delete(file.sha256);
      remember(store, file);
    } else rmSync(blob);
  }
  return [...byHash.values()];
}

/** @returns the free bytes @throws ModelError if the disk has no space for the rest of the files */
export function checkSpace(
  store: ModelStore,
  { id }: Pick<ModelManifest, 'id'>,
  files: readonly Pick<ModelFile, 'bytes' | 'sha256'>[],
): number {
  const needed = files.reduce((sum, file) => sum + file.bytes - (sizeOf(partialOf(store, file)) ?? 0), 0);
  const free = freeBytes(store.root);
  if (hasSpace(store.root, needed)) return free;
  throw new ModelError(
    `${id} needs ${megabytes(needed)} MB more, and the disk of ${store.root} has ${megabytes(free)} MB. Nothing was pulled.`,
  );
}

function megabytes(bytes: number): number {
  return Math.ceil(bytes / 1_000_000);
}

/** Links are relative, so that the data folder can be moved. */
function link(store: ModelStore, { id, files }: ModelManifest): void {
  const folder = store.path(id);
  const next = store.path(`.${id}`);
  rmSync(next, { recursive: true, force: true });
  for (const file of files) {
    const path = join(next, file.name);
    mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
    symlinkSync(relative(dirname(path), store.blob(file)), path);
  }
  rmSync(folder, { recursive: true, force: true });
  renameSync(next, folder);
}

/** Removes blobs, partial files and records that no manifest names, and all archives. */
function removeUnused(store: ModelStore): void {
  const used = new Set(
    store.list().flatMap(({ manifest }) => manifest.files.map(({ sha256 }) => `sha256-${sha256}`)),
  );
  for (const folder of ['blobs', 'partial', 'checked']) {
    for (const name of readdirSync(join(store.root, folder))) {
      if (!used.has(name)) rmSync(join(store.root, folder, name), { recursive: true });
    }
  }
}

export type Flaw = 'missing' | 'size' | 'content';

/** The files of a model that differ from its manifest. @throws ModelError if the model is not known, or cannot be read */
export async function verify(store: ModelStore, id: string, signal?: AbortSignal) {
  const flaws: { readonly name: string; readonly flaw: Flaw }[] = [];
  for (const { name, bytes, sha256 } of store.manifest(id).files) {
    const path = store.path(id, name);
    const found = sizeOf(path);
    if (found === undefined) flaws.push({ name, flaw: 'missing' });
    else if (found !== bytes) flaws.push({ name, flaw: 'size' });
    else if ((await hashOf(path, signal)) !== sha256) flaws.push({ name, flaw: 'content' });
  }
  return flaws;
}

/** Licences of models. One that is not permissive needs the operator's answer, which is kept. */
type Licence = ModelManifest['licence'];

/** SPDX identifiers. */
const permissive = new Set([
  ...['MIT', 'MIT-0', 'Apache-2.0', 'BSD-2-Clause', 'BSD-3-Clause', 'ISC', '0BSD', 'Zlib', 'Unlicense'],
  ...['CC0-1.0', 'CC-BY-4.0', 'CDLA-Permissive-2.0'],
]);

const answers = z.array(z.object({ name: z.string(), url: z.string().optional(), acceptedAt: z.string() }));

/** Headers of files write the identifiers of SPDX in lower case. */
export function spdxName(name: string): string {
  return [...permissive].find((known) => known.toLowerCase() === name.toLowerCase()) ?? name;
}

function isPermissive({ name }: Licence): boolean {
  return permissive.has(name);
}

/**
 * @param ask throws unless the operator accepts the licence
 * @throws the error of `ask`
 */
async function acceptLicence(store: ModelStore, licence: Licence, ask: () => Promise<void>): Promise<void> {
  if (isPermissive(licence)) return;
  const file = join(store.root, 'licences.json');
  const given = readAnswers(file);
  if (given.some(({ name, url }) => name === licence.name && url === licence.url)) return;
  await ask();
  writeDocument(file, [...given, { ...licence, acceptedAt: new Date().toISOString() }]);
}

function readAnswers(file: string): z.output<typeof answers> {
  try {
    return answers.parse(JSON.parse(readFileSync(file, 'utf8')));
  } catch (error) {
    if (systemCode(error) === 'ENOENT') return [];
    throw new ModelError(
      `${file} cannot be read. Repair or delete it, then accept the licences again.`,
      error,
    );
  }
}

function writeDocument(path: string, document: unknown): void {
  replaceFile(path, `${JSON.stringify(document, null, 2)}\n`);
}
