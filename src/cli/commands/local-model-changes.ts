/** Changes of local models: of their files, of their runtimes, and of the lines about them in parley.yaml. */
import { existsSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { isDeepStrictEqual } from 'node:util';
import { checkContents } from '../../app/local-files.ts';
import { runtimePlaces } from '../../app/local-programs.ts';
import { lineDiff, withModel, withoutModel } from '../../config/edited-file.ts';
import { replaceFile, unwritableReason } from '../../files/replace-file.ts';
import { type CatalogueEntry, catalogue } from '../../models/catalogue.ts';
import {
  changeModels,
  type Flaw,
  type PullOptions,
  pull as pullFiles,
  remove as removeFiles,
  verify as verifyFiles,
} from '../../models/changes.ts';
import { bytesOf, type ModelManifest, readManifest } from '../../models/manifest.ts';
import { ModelStore } from '../../models/model-store.ts';
import { type ModelFacts, manifestOfFiles, manifestOfUrls } from '../../models/new-model.ts';
import { installRuntime } from '../../runtimes/install.ts';
import { runtimes } from '../../runtimes/runtimes.ts';
import { dataFolderError } from '../client/data-folder.ts';
import { readServerFile } from '../client/server-file.ts';
import { configOf, loadWithFlags, recogniserId } from '../configuration.ts';
import type { ConfigFlags, LocalFlags } from '../flags.ts';
import { CliError, interruptible } from '../terminal/command.ts';
import { confirm, type YesFlag } from '../terminal/confirm.ts';
import { StepProgress, sizeText } from '../terminal/status-bar.ts';
import { printJson, printStatus } from '../terminal/terminal.ts';
import { applyConfig } from './config.ts';

interface PullFlags extends LocalFlags, YesFlag {
  readonly token?: string;
}

interface NewModelFlags extends PullFlags {
  readonly id?: string;
  readonly type?: ModelManifest['type'];
  readonly licence?: string;
  readonly licenceUrl?: string;
  readonly contextTokens?: string;
  readonly voice?: readonly string[];
  readonly language?: string[];
  readonly memoryBytes?: string;
}

function localModels(flags: ConfigFlags) {
  const { dataDir } = configOf(flags);
  const store = new ModelStore(dataDir);
  /** Runs a change that Ctrl-C ends, while no other command changes the models. */
  const change = (run: (signal: AbortSignal) => Promise<void>) =>
    interruptible((signal) =>
      changeModels(store, () => run(signal)).catch((error) =>
        Promise.reject(dataFolderError(error, dataDir)),
      ),
    );
  return { store, change };
}

export async function pull(model: string, flags: PullFlags): Promise<void> {
  const models = localModels(flags);
  const isPath = model.includes('/') || model.endsWith('.json');
  const known = models.store.list().find(({ manifest }) => manifest.id === model)?.manifest;
  // The operator may have given another model the same id.
  const entry = catalogue().find(
    ({ manifest: { id, files } }) =>
      id === model && (known === undefined || isDeepStrictEqual(known.files, files)),
  );
  if (entry !== undefined) return pullByName(models, entry, known !== undefined, flags);
  const manifest = isPath ? readManifest(model) : models.store.manifest(model);
  const askLicence = () => confirm(`${manifest.id} ${licenceText(manifest)}. Do you accept it?`, flags);
  await models.change((signal) => bring(models.store, manifest, flags, { signal, askLicence }));
}

async function pullByName(
  models: ReturnType<typeof localModels>,
  { manifest, ...entry }: CatalogueEntry,
  isKnown: boolean,
  flags: PullFlags,
): Promise<void> {
  const { id } = manifest;
  const install = runtimeOf({ manifest, ...entry }, flags);
  const write = editedConfig(flags, (text) => withModel(text, manifest, recogniserId()));
  if (write !== undefined || !isKnown)
    await confirm(`Pull ${id} and serve it? It ${licenceText(manifest)}.`, flags);
  await models.change(async (signal) => {
    await install(signal);
    await bring(models.store, manifest, flags, { signal, askLicence: alreadyAsked });
  });
  await write?.();
}

export async function add(urls: readonly string[], flags: NewModelFlags): Promise<void> {
  const models = localModels(flags);
  await models.change(async (signal) => {
    const progress = new StepProgress('bytes');
    const options = { ...sourceOptions(urls[0], flags), signal, onProgress: progress.show };
    const manifest = await manifestOfUrls(models.store, urls, factsOf(flags), options).finally(() =>
      progress.close(),
    );
    await describeAndConfirm(manifest, flags);
    await bring(models.store, manifest, flags, { signal, askLicence: alreadyAsked });
  });
}

export async function importModel(path: string, flags: NewModelFlags): Promise<void> {
  const models = localModels(flags);
  await models.change(async (signal) => {
    const manifest = await manifestOfFiles(models.store, path, factsOf(flags), signal);
    const files = manifest.files.map(({ name, urls: [url] }) => ({ name, path: fileURLToPath(String(url)) }));
    await checkContents({ ...manifest, files });
    await describeAndConfirm(manifest, flags);
    await bring(models.store, manifest, flags, { signal, askLicence: alreadyAsked });
  });
}

const alreadyAsked = async () => undefined;

async function bring(
  store: ModelStore,
  manifest: ModelManifest,
  flags: PullFlags,
  asked: Pick<PullOptions, 'signal' | 'askLicence'>,
): Promise<void> {
  const progress = new StepProgress('bytes');
  const onStart = (bytes: number, free: number) => {
    if (bytes === 0) return;
    printStatus(
      `${manifest.id}: ${sizeText(bytes)} are missing, and ${sizeText(free)} are free in ${store.root}.`,
    );
  };
  const source = sourceOptions(manifest.files[0]?.urls[0], flags);
  const { bytesPulled } = await pullFiles(store, manifest, {
    ...asked,
    ...source,
    onStart,
    onProgress: progress.show,
  }).finally(() => progress.close());
  const { folder } = store.resolve(manifest.id);
  if (flags.json) return printJson({ id: manifest.id, bytes_pulled: bytesPulled, folder });
  printStatus(`The local model ${manifest.id} is complete: all hashes are right.`);
}

/** The token is for the host of the first URL. */
function sourceOptions(
  firstUrl: string | readonly string[] | undefined,
  { token }: PullFlags,
): Pick<PullOptions, 'token'> {
  const url = URL.parse([firstUrl].flat()[0] ?? '');
  return token === undefined || url === null ? {} : { token: { origin: url.origin, value: token } };
}

/** Shows what becomes an entry. @throws CliError unless the operator agrees */
async function describeAndConfirm(manifest: ModelManifest, flags: YesFlag): Promise<void> {
  for (const { name, bytes, sha256 } of manifest.files)
    printStatus(`${name}  ${sizeText(bytes)}  sha256:${sha256}`);
  const { id, type, runtime } = manifest;
  await confirm(`Add ${id} (${type}, ${runtime})? It ${licenceText(manifest)}.`, flags);
}

function licenceText({ licence: { name, url } }: ModelManifest): string {
  return `has the licence ${name}${url === undefined ? '' : ` (${url})`}`;
}

function factsOf(flags: NewModelFlags): ModelFacts {
  const { id, type, licence, licenceUrl, contextTokens, voice, language, memoryBytes } = flags;
  const voices = voice?.map((text, speaker) => {
    const [name = '', tag = ''] = text.split('=');
    return { name, language: tag, speaker };
  });
  return {
    id,
    type,
    licence: { name: licence, url: licenceUrl },
    contextTokens: contextTokens === undefined ? undefined : Number(contextTokens),
    voices,
    languages: language,
    memoryBytes: memoryBytes === undefined ? undefined : Number(memoryBytes),
  };
}

export async function verify(model: string | undefined, flags: LocalFlags): Promise<void> {
  const { store } = localModels(flags);
  const ids = model === undefined ? store.list().map(({ manifest }) => manifest.id) : [model];
  const verified: { id: string; flaws: { name: string; flaw: Flaw }[] }[] = [];
  await interruptible(async (signal) => {
    for (const id of ids) verified.push({ id, flaws: await verifyFiles(store, id, signal) });
  });
  if (flags.json) await printJson({ models: verified });
  for (const { id, flaws } of flags.json ? [] : verified) {
    if (flaws.length === 0) printStatus(`${id}: all files are right.`);
    for (const { name, flaw } of flaws) printStatus(`${id}: ${name} ${flawTexts[flaw]}.`);
  }
  const wrong = verified.filter(({ flaws }) => flaws.length > 0).map(({ id }) => id);
  if (wrong.length > 0) throw new CliError(`Repair by \`parley models pull\`: ${wrong.join(', ')}.`);
}

const flawTexts: Record<Flaw, string> = {
  missing: 'is missing',
  size: 'has another size than its manifest states',
  content: 'has another content than its manifest states',
};

export async function remove(model: string, flags: LocalFlags & YesFlag): Promise<void> {
  const { store, change } = localModels(flags);
  store.manifestFile(model);
  const write = editedConfig(flags, (text) => withoutModel(text, model, recogniserId()));
  await confirm(`Remove the local model ${model} and its files from ${store.root}?`, flags);
  await change(async () => removeFiles(store, model));
  await write?.();
  if (flags.json) await printJson({ id: model, removed: true });
  else printStatus(`The local model ${model} is removed.`);
}

/** Says what a model is and which runtime it needs. @returns installs that runtime if it is missing and Parley has archives of it */
function runtimeOf({ manifest, about }: CatalogueEntry, flags: ConfigFlags) {
  printStatus(`${manifest.id}: ${about}. ${sizeText(bytesOf(manifest))}, ${manifest.licence.name}.`);
  const runtime = runtimes.get(manifest.runtime);
  const places = runtimePlaces(configOf(flags));
  if (runtime === undefined || runtime.find(places) !== undefined) return async () => undefined;
  if (runtime.archives.length === 0) {
    printStatus(`It needs ${runtime.program}, which is not there. ${runtime.advice}`);
    return async () => undefined;
  }
  const { name, licence, notice = '' } = runtime;
  printStatus(`It needs the runtime ${name} (${licence}), which is installed too. ${notice}`);
  return async (signal: AbortSignal) => {
    await installRuntime(runtime, runtime.archives, places.folder, signal);
    printStatus(`${name} is installed.`);
  };
}

/**
 * Shows how parley.yaml changes.
 * @returns writes the file, and lets a running server use it; undefined if nothing changes
 * @throws ConfigError if the changed file would not be valid, CliError if it cannot be written
 */
function editedConfig(flags: ConfigFlags, edit: (text: string) => string): (() => Promise<void>) | undefined {
  const { file = './parley.yaml' } = loadWithFlags(flags);
  const before = existsSync(file) ? readFileSync(file, 'utf8') : '';
  const after = edit(before);
  if (after === before) return undefined;
  printStatus(`${file} changes:\n${lineDiff(before, after).join('\n')}`);
  const reason = unwritableReason(file);
  if (reason !== undefined) {
    const advice = 'Make the change that is shown above, then repeat the command.';
    throw new CliError(`${file} cannot be written (${reason}). ${advice}`);
  }
  loadWithFlags(flags, after);
  return async () => {
    replaceFile(file, after);
    if (readServerFile(configOf(flags).dataDir) === undefined)
      printStatus(`${file} is written. The server reads it when it starts.`);
    else await applyConfig({ ...flags, config: file });
  };
}
