/** The commands for local models. They change files of the data folder, and need no server. */
import { fileURLToPath } from 'node:url';
import { isDeepStrictEqual } from 'node:util';
import { type Command, Option } from 'commander';
import { modelTypes } from '../../core/entities/model.ts';
import type { CatalogueEntry } from '../../models/catalogue.ts';
import type { Flaw, PullOptions } from '../../models/changes.ts';
import type { ModelManifest } from '../../models/manifest.ts';
import type { ModelFacts } from '../../models/new-model.ts';
import { dataFolderError } from '../client/data-folder.ts';
import { type AdminFlags, type ConfigFlags, type LocalFlags, localCommand, withAdminKey } from '../flags.ts';
import { CliError, interruptible, newCommand } from '../terminal/command.ts';
import { confirm, withYes, type YesFlag } from '../terminal/confirm.ts';
import { StepProgress, sizeText } from '../terminal/status-bar.ts';
import { printJson, printStatus } from '../terminal/terminal.ts';

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

export function localModelCommands(): Command[] {
  return [
    withAdminKey(
      localCommand('list', 'List the local models of the data folder, and how they run on its server.'),
    ).action((_, self: Command) => list(self.optsWithGlobals())),
    newCommand('available', 'List the models that Parley knows by name.')
      .option('--json', 'print one JSON document')
      .action(async (_, self: Command) =>
        (await import('./local-model-list.ts')).listAvailable(self.optsWithGlobals()),
      ),
    pullCommand('pull', 'Bring a model by its name and serve it, or check the files of a local model.')
      .argument(
        '<model>',
        'a name of `parley models available`, the id of a local model, or the path of a manifest',
      )
      .action((named, _, self: Command) => pull(named, self.optsWithGlobals())),
    newModelCommand('add', 'Describe a model by the URLs of its files, and pull it.')
      .argument('<url...>', 'https URLs; #sha256=… is the hash that the publisher states')
      .action((named, _, self: Command) => add(named, self.optsWithGlobals())),
    newModelCommand('import', 'Take the files of a model from this machine.')
      .argument('<path>', 'a GGUF file, or a folder with the files of a sherpa model')
      .action((named, _, self: Command) => importModel(named, self.optsWithGlobals())),
    localCommand('verify', 'Compare the files of local models with their hashes.')
      .argument('[model]', 'the id of a local model (default: all)')
      .action((named, _, self: Command) => verify(named, self.optsWithGlobals())),
    withYes(localCommand('rm', 'Remove a local model and its files.'))
      .argument('<model>', 'the id of a local model')
      .action((named, _, self: Command) => remove(named, self.optsWithGlobals())),
  ];
}

function pullCommand(name: string, description: string): Command {
  const token = new Option('--token <token>', 'a bearer token for the host of the first URL, and no other');
  return withYes(localCommand(name, description)).addOption(token.env('PARLEY_MODELS_TOKEN'));
}

function newModelCommand(name: string, description: string): Command {
  return pullCommand(name, description)
    .option(
      '--licence <name>',
      'the SPDX identifier of its licence, or its name (default for an imported GGUF file: as its header says)',
    )
    .option('--licence-url <url>', 'where the licence can be read')
    .option(
      '--id <id>',
      'its id here (default for an imported GGUF file: the name in its header, else that of its file or folder)',
    )
    .addOption(new Option('--type <type>', 'its type (default for GGUF: chat)').choices(modelTypes))
    .option(
      '--context-tokens <number>',
      'chat: tokens of prompt and completion together (default: as --licence)',
    )
    .option(
      '--voice <name=language...>',
      'speech: its voices, such as af_heart=en-US, in the order of its speakers',
    )
    .option('--language <tag...>', 'transcription: the languages that it knows')
    .option(
      '--memory-bytes <number>',
      'memory that it needs (default: 1.2 times its files, of Whisper 3.2 times)',
    );
}

/** The part of the program that changes models, loaded when a command runs. */
async function localModels(flags: ConfigFlags) {
  const [{ configOf }, contents, { readManifest }, { ModelStore }, changes, newModel] = await Promise.all([
    import('../configuration.ts'),
    import('../../app/local-files.ts'),
    import('../../models/manifest.ts'),
    import('../../models/model-store.ts'),
    import('../../models/changes.ts'),
    import('../../models/new-model.ts'),
  ]);
  const { dataDir } = configOf(flags);
  const store = new ModelStore(dataDir);
  /** Runs a change that Ctrl-C ends, while no other command changes the models. */
  const change = (run: (signal: AbortSignal) => Promise<void>) =>
    interruptible((signal) =>
      changes
        .changeModels(store, () => run(signal))
        .catch((error) => Promise.reject(dataFolderError(error, dataDir))),
    );
  return { ...changes, ...newModel, ...contents, readManifest, store, dataDir, change };
}

type LocalModels = Awaited<ReturnType<typeof localModels>>;

async function list(flags: LocalFlags & AdminFlags): Promise<void> {
  const [{ store, dataDir }, { listLocalModels }] = await Promise.all([
    localModels(flags),
    import('./local-model-list.ts'),
  ]);
  await listLocalModels(store.list(), dataDir, flags);
}

async function pull(model: string, flags: PullFlags): Promise<void> {
  const [models, { catalogue }] = await Promise.all([
    localModels(flags),
    import('../../models/catalogue.ts'),
  ]);
  const isPath = model.includes('/') || model.endsWith('.json');
  const known = models.store.list().find(({ manifest }) => manifest.id === model)?.manifest;
  // The operator may have given another model the same id.
  const entry = catalogue().find(
    ({ manifest: { id, files } }) =>
      id === model && (known === undefined || isDeepStrictEqual(known.files, files)),
  );
  if (entry !== undefined) return pullByName(models, entry, known !== undefined, flags);
  const manifest = isPath ? models.readManifest(model) : models.store.manifest(model);
  const askLicence = () => confirm(`${manifest.id} ${licenceText(manifest)}. Do you accept it?`, flags);
  await models.change((signal) => bring(models, manifest, flags, { signal, askLicence }));
}

async function pullByName(
  models: LocalModels,
  { manifest, ...entry }: CatalogueEntry,
  isKnown: boolean,
  flags: PullFlags,
): Promise<void> {
  const [{ editedConfig, runtimeOf }, { withModel }] = await Promise.all([
    import('./catalogue-models.ts'),
    import('../../config/edited-file.ts'),
  ]);
  const { id } = manifest;
  const install = await runtimeOf({ manifest, ...entry }, flags);
  const write = await editedConfig(flags, (text, recogniser) => withModel(text, manifest, recogniser));
  if (write !== undefined || !isKnown)
    await confirm(`Pull ${id} and serve it? It ${licenceText(manifest)}.`, flags);
  await models.change(async (signal) => {
    await install(signal);
    await bring(models, manifest, flags, { signal, askLicence: alreadyAsked });
  });
  await write?.();
}

async function add(urls: readonly string[], flags: NewModelFlags): Promise<void> {
  const models = await localModels(flags);
  await models.change(async (signal) => {
    const progress = new StepProgress('bytes');
    const options = { ...sourceOptions(urls[0], flags), signal, onProgress: progress.show };
    const manifest = await models
      .manifestOfUrls(models.store, urls, factsOf(flags), options)
      .finally(() => progress.close());
    await describeAndConfirm(manifest, flags);
    await bring(models, manifest, flags, { signal, askLicence: alreadyAsked });
  });
}

async function importModel(path: string, flags: NewModelFlags): Promise<void> {
  const models = await localModels(flags);
  await models.change(async (signal) => {
    const manifest = await models.manifestOfFiles(models.store, path, factsOf(flags), signal);
    const files = manifest.files.map(({ name, urls: [url] }) => ({ name, path: fileURLToPath(String(url)) }));
    await models.checkContents({ ...manifest, files });
    await describeAndConfirm(manifest, flags);
    await bring(models, manifest, flags, { signal, askLicence: alreadyAsked });
  });
}

const alreadyAsked = async () => undefined;

async function bring(
  { pull: pullFiles, store }: LocalModels,
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

async function verify(model: string | undefined, flags: LocalFlags): Promise<void> {
  const { store, verify: flawsOf } = await localModels(flags);
  const ids = model === undefined ? store.list().map(({ manifest }) => manifest.id) : [model];
  const verified: { id: string; flaws: { name: string; flaw: Flaw }[] }[] = [];
  await interruptible(async (signal) => {
    for (const id of ids) verified.push({ id, flaws: await flawsOf(store, id, signal) });
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

async function remove(model: string, flags: LocalFlags & YesFlag): Promise<void> {
  const { store, change, remove: removeModel } = await localModels(flags);
  store.manifestFile(model);
  const [{ editedConfig }, { withoutModel }] = await Promise.all([
    import('./catalogue-models.ts'),
    import('../../config/edited-file.ts'),
  ]);
  const write = await editedConfig(flags, (text, recogniser) => withoutModel(text, model, recogniser));
  await confirm(`Remove the local model ${model} and its files from ${store.root}?`, flags);
  await change(async () => removeModel(store, model));
  await write?.();
  if (flags.json) await printJson({ id: model, removed: true });
  else printStatus(`The local model ${model} is removed.`);
}
