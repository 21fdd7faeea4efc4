/** Makes the manifests of models that the operator names by URLs or by files of this machine. */
import { createHash } from 'node:crypto';
import { existsSync, readdirSync, renameSync, rmSync, statSync } from 'node:fs';
import { basename, join, relative, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { fileReason, systemCode } from '../files/reason.ts';
import { checkSpace, partialOf, spdxName } from './changes.ts';
import { type DownloadOptions, download, hashOf } from './download.ts';
import { ggufFacts } from './gguf-header.ts';
import { checkManifest, ModelError, type ModelFile, type ModelManifest, sha256Pattern } from './manifest.ts';
import { type ModelStore, sizeOf } from './model-store.ts';
import { sizeAt } from './source.ts';

/** Facts about a model that its files do not contain. */
export type ModelFacts = Omit<ModelManifest, 'files' | 'runtime' | 'type' | 'id' | 'licence'> & {
  readonly id: string | undefined;
  /** Default: that of a GGUF file's header */
  readonly licence: Omit<ModelManifest['licence'], 'name'> & { readonly name: string | undefined };
  /** Default for a GGUF file: chat */
  readonly type: ModelManifest['type'] | undefined;
};

const archives = /\.(tar|tgz|tbz2?|txz|zip|7z|rar|gz|bz2|xz|zst)$/i;

/**
 * Asks each URL for the size of its file. A file whose URL has no `#sha256=…` is downloaded to find its hash. To be
 * called in `changeModels`.
 * @throws ModelError
 */
export async function manifestOfUrls(
  store: ModelStore,
  urls: readonly string[],
  facts: ModelFacts,
  options: DownloadOptions,
): Promise<ModelManifest> {
  const sources = urls.map(readUrl);
  const named = draft(facts, sources);
  requireNew(store, named.id);
  if (facts.licence.name === undefined) throw new ModelError('Give --licence: the name of its licence.');
  const files: ModelFile[] = [];
  for (const source of sources) files.push(await fileOf(store, named.id, source, options));
  return checkManifest({ ...named, files }, named.id);
}

function archiveError(name: string): ModelError {
  return new ModelError(
    `${name} is an archive, and none is unpacked here. Unpack it yourself, then import the folder.`,
  );
}

interface NamedUrl {
  readonly name: string;
  readonly url: string;
  readonly sha256: string | undefined;
}

/** @throws ModelError for an archive, as none is unpacked, and for a URL without a file name */
function readUrl(text: string): NamedUrl {
  const url = URL.parse(text);
  if (url === null) throw new ModelError(`${text} is not a URL. To take a file of this machine, use import.`);
  const sha256 = /^#sha256=(.*)$/.exec(url.hash)?.[1];
  if (url.hash !== '' && !sha256Pattern.test(sha256 ?? '')) {
    throw new ModelError(
      `${text} must end with #sha256= and 64 lower-case hexadecimal digits, or without #.`,
    );
  }
  const name = basename(url.pathname);
  if (archives.test(name)) {
    throw archiveError(name);
  }
  url.hash = '';
  return { name, url: url.href, sha256 };
}

async function fileOf(
  store: ModelStore,
  id: string,
  { name, url, sha256 }: NamedUrl,
  options: DownloadOptions,
): Promise<ModelFile> {
  const { bytes, validator } = await sizeAt(url, options);
  if (sha256 !== undefined) return { name, sha256, bytes, urls: [url] };
  const urlHash = createHash('sha256').update(url).digest('hex');
  checkSpace(store, { id }, [{ bytes, sha256: urlHash }]);
  const partial = partialOf(store, { sha256: urlHash });
  // Nothing says whether an earlier part is of the same version.
  rmSync(partial, { force: true });
  const found = await download({ name, bytes, urls: [url], validator }, partial, options);
  renameSync(partial, partialOf(store, { sha256: found }));
  return { name, sha256: found, bytes, urls: [url] };
}

/**
 * A GGUF file, or a folder of sherpa with all its files.
 * @throws ModelError
 */
export async function manifestOfFiles(
  store: ModelStore,
  path: string,
  facts: ModelFacts,
  signal?: AbortSignal,
): Promise<ModelManifest> {
  if (archives.test(path)) throw archiveError(basename(path));
  const names = namesIn(path);
  const gguf = names.find(({ name }) => name.endsWith('.gguf'));
  const unreadable = (error: unknown): never => {
    if (systemCode(error) === undefined) throw error;
    throw new ModelError(`${path} cannot be read (${fileReason(error)}).`, error);
  };
  const header = gguf && (await ggufFacts(gguf.path).catch(unreadable));
  const id = facts.id ?? (idOf(header?.name ?? '') || idOf(basename(resolve(path))));
  const named = draft({ ...facts, id }, names);
  requireNew(store, named.id);
  const files: ModelFile[] = [];
  for (const { name, path: file } of names) {
    const bytes = sizeOf(file) ?? 0;
    const sha256 = await hashOf(file, signal).catch(unreadable);
    files.push({ name, sha256, bytes, urls: [pathToFileURL(file).href] });
  }
  const { contextTokens = header?.contextTokens, licence } = facts;
  const name = licence.name ?? (header?.licence && spdxName(header.licence));
  if (name === undefined) throw new ModelError(`Give --licence: ${basename(path)} does not state one.`);
  return checkManifest({ ...named, contextTokens, licence: { ...licence, name }, files }, named.id);
}

function namesIn(path: string): { readonly name: string; readonly path: string }[] {
  const whole = resolve(path);
  const stats = statSync(whole, { throwIfNoEntry: false });
  if (stats?.isFile()) return [{ name: basename(whole), path: whole }];
  if (!stats?.isDirectory()) throw new ModelError(`There is no file or folder ${path}.`);
  const names = readdirSync(whole, { recursive: true, withFileTypes: true })
    .map(({ parentPath, name }) => relative(whole, join(parentPath, name)))
    .filter((name) => !/(^|\/)\./.test(name) && sizeOf(join(whole, name)) !== undefined);
  return names.sort().map((name) => ({ name, path: join(whole, name) }));
}

/** The runtime follows from the files, and so does the id unless it is given. */
function draft(facts: ModelFacts, files: readonly { readonly name: string }[]) {
  const [first] = files;
  const gguf = files.find(({ name }) => name.endsWith('.gguf'));
  const model = gguf ?? files.find(({ name }) => /\.(onnx|ort)$/.test(name));
  if (first === undefined || model === undefined) {
    throw new ModelError('A model needs a .gguf file for llama-server, or .onnx files for sherpa.');
  }
  const runtime = gguf === undefined ? 'sherpa' : 'llama';
  const type = facts.type ?? (gguf === undefined ? undefined : 'chat');
  if (type === undefined)
    throw new ModelError('Give --type speech or --type transcription for files of sherpa.');
  if ((type === 'chat') !== (runtime === 'llama'))
    throw new ModelError(`${model.name} cannot be used for ${type}.`);
  const id = facts.id ?? idOf(model.name);
  return { ...facts, id, type, runtime };
}

function idOf(fileName: string): string {
  return fileName
    .replace(/\.(gguf|onnx)$/, '')
    .toLowerCase()
    .replace(/[^a-z0-9._-]+/g, '-')
    .replace(/^[^a-z0-9]+/, '');
}

function requireNew(store: ModelStore, id: string): void {
  if (!existsSync(store.manifestFile(id))) return;
  throw new ModelError(
    `There is a local model ${id} already. Bring its files by \`parley models pull ${id}\`, remove it by \`parley models rm ${id}\`, or give another --id.`,
  );
}
