/** Turns each engine of the kind `local` into engines of the kind `process`, one for each model that it runs. */
import { availableParallelism, totalmem } from 'node:os';
import { join, resolve } from 'node:path';
import type { Config, EngineConfig, ModelConfig } from '../config/config.ts';
import { localEngine as localDefaults } from '../config/schema/engines.ts';
import { contextTokensDefault } from '../config/schema/models.ts';
import { isStreaming } from '../engines/sherpa/streaming-config.ts';
import { bytesOf, ModelError } from '../models/manifest.ts';
import { type LocalModel, ModelStore } from '../models/model-store.ts';
import type { RuntimePlaces } from '../runtimes/runtime.ts';
import { runtimes } from '../runtimes/runtimes.ts';

type LocalSettings = Extract<EngineConfig, { readonly kind: 'local' }>;
type ProcessSettings = Extract<EngineConfig, { readonly kind: 'process' }>;

type LocalProgram = ProcessSettings & {
  readonly contextTokens: number | undefined;
  readonly outputTokensMax: number | undefined;
  readonly realtime: boolean;
};

export interface LocalEngine {
  readonly kind: 'local';
  /** The files of the model, in bytes; 0 if they are missing. */
  readonly fileBytes: number;
  readonly program: LocalProgram | LocalProblem;
  readonly dataDir: string;
  /** The id of the model in the data folder. */
  readonly model: string;
  readonly disabled: boolean;
}

/** Why the model cannot run, and what to do. */
export interface LocalProblem {
  readonly found: string;
  readonly advice: string;
}

export type OpenedEngineSettings = Exclude<EngineConfig, LocalSettings> | LocalEngine;

/** The name of a model's engine in the running server, such as `local/small` for the engine `local`. */
export function engineName({ engines }: Config, { id, model = id }: ModelConfig, name: string): string {
  return engines[name]?.kind === 'local' ? `${name}/${model}` : name;
}

/** The names of a model's engines in the running server. */
export function engineNames(config: Config, model: ModelConfig): string[] {
  return [model.engine].flat().map((name) => engineName(config, model, name));
}

/** Why an engine does not serve a model although it could; undefined if its operator has disabled neither. */
export function disabledReason({ engines }: Config, model: ModelConfig, name: string): string | undefined {
  if (model.disabled) return `The operator of this server has disabled the model ${model.id}.`;
  return engines[name]?.disabled ? `The operator of this server has disabled the engine ${name}.` : undefined;
}

/** The settings of each engine by its name in the running server. Reads which models and runtimes are there. */
export function openedEngines(config: Config): ReadonlyMap<string, OpenedEngineSettings> {
  const opened = new Map<string, OpenedEngineSettings>();
  for (const [name, settings] of Object.entries(config.engines)) {
    if (settings.kind !== 'local') {
      opened.set(name, settings);
      continue;
    }
    const models = config.models.filter(({ engine }) => [engine].flat().includes(name));
    const byName = Map.groupBy(models, (model) => engineName(config, model, name));
    for (const [own, users] of byName) opened.set(own, localEngine(config, settings, users));
  }
  return opened;
}

/** The smallest model of each runtime that has one here, as an engine would run it. @throws ModelError for an invalid manifest */
export function smallestModels(config: Config): ReadonlyMap<string, LocalEngine> {
  const pulled = new ModelStore(config.dataDir).list().filter(({ isPulled }) => isPulled);
  pulled.sort((one, other) => one.bytes - other.bytes);
  // Without its whole context, which may need more memory than there is.
  const users = pulled.map(({ manifest: { id, type, runtime } }) => ({ id, type, runtime }));
  const isLocal = (settings: EngineConfig) => settings.kind === 'local';
  const settings = Object.values(config.engines).find(isLocal) ?? localDefaults.parse({ kind: 'local' });
  const ofRuntimes = Map.groupBy(users, ({ runtime }) => runtime);
  return new Map(
    Array.from(ofRuntimes, ([runtime, each]) => [runtime, localEngine(config, settings, each.slice(0, 1))]),
  );
}

export function runtimePlaces({ dataDir, programs, programEnvironment }: Config): RuntimePlaces {
  const { PATH: path = '' } = programEnvironment;
  return { folder: join(dataDir, 'runtimes'), path, llamaServer: programs.llamaServer };
}

/** A model of the catalog that a local one serves. */
interface LocalUser {
  readonly id: string;
  readonly type: ModelConfig['type'];
  /** The local model. Default: that of the same id */
  readonly model?: string | undefined;
  readonly contextTokens?: number | undefined;
}

/** @param users the models of the catalog that share the program */
function localEngine(config: Config, settings: LocalSettings, users: readonly LocalUser[]): LocalEngine {
  const [{ id = '', model: source = id } = {}] = users;
  const { dataDir } = config;
  const store = new ModelStore(dataDir);
  const facts = { kind: 'local', dataDir, model: source, disabled: settings.disabled ?? false } as const;
  try {
    const model = store.resolve(source);
    const program = mismatch(model, users) ?? programOf(model, { config, settings, users });
    return { ...facts, fileBytes: bytesOf(store.manifest(source)), program };
  } catch (error) {
    if (!(error instanceof ModelError)) throw error;
    const advice = 'When the model is there, reload the server.';
    return { ...facts, fileBytes: 0, program: { found: error.message, advice } };
  }
}

function mismatch(local: LocalModel, users: readonly LocalUser[]): LocalProblem | undefined {
  const { id, type, contextTokens = Infinity } = local;
  const other = users.find((user) => user.type !== type);
  if (other !== undefined) {
    const advice = `Write \`type: ${type}\` for it, or choose another \`model\`.`;
    return { found: `${id} is for ${type}, but ${other.id} for ${other.type}.`, advice };
  }
  const tooLong = users.find((user) => (user.contextTokens ?? 0) > contextTokens);
  if (tooLong === undefined) return undefined;
  const found = `${id} has a context of ${contextTokens} tokens, less than the ${tooLong.contextTokens} of ${tooLong.id}.`;
  return { found, advice: 'Lower its `contextTokens`.' };
}

interface Uses {
  readonly config: Config;
  readonly settings: LocalSettings;
  readonly users: readonly LocalUser[];
}

function programOf(model: LocalModel, { config, settings, users }: Uses) {
  const runtime = runtimes.get(model.runtime);
  const found = runtime?.find(runtimePlaces(config));
  if (runtime === undefined || found === undefined) {
    const advice = runtime?.advice ?? 'Update Parley.';
    return { found: `The runtime ${model.runtime} of the model ${model.id} is not installed.`, advice };
  }
  const { promptCache, arguments: further, threads = spareThreads(), ...shared } = settings;
  const byDefault = Math.min(contextTokensDefault, model.contextTokens ?? Infinity);
  const contextTokens = Math.max(...users.map((user) => user.contextTokens ?? byDefault));
  const { callsMax } = settings;
  const options = { contextTokens, callsMax, threads, promptCache, arguments: further };
  return {
    env: {},
    voices: Object.fromEntries((model.voices ?? []).map(({ name, language }) => [name, language])),
    healthPath: '/health',
    transcriptionFormat: 'verbose_json' as const,
    models: Object.fromEntries(users.map(({ id }) => [id, model.id])),
    ...shared,
    ...runtime.settings(found, model, options),
    realtime: model.runtime === 'sherpa' && model.type === 'transcription' && isStreaming(model),
    kind: 'process' as const,
    contextTokens: model.type === 'chat' ? contextTokens : undefined,
    outputTokensMax: model.defaults?.max_tokens,
  };
}

/** Parley itself needs a core: a program that waits for its own threads is many times slower. */
function spareThreads(): number {
  return Math.max(1, availableParallelism() - 1);
}

const partOfMemory = 3 / 4;

/** Memory and folder of the programs that Parley runs. */
export function programSurroundings({ programs, programEnvironment: environment, dataDir }: Config) {
  const usableBytes = Math.min(totalmem(), process.constrainedMemory() || Infinity);
  return {
    environment,
    /** Memory for all programs together. Default: three quarters of what machine and cgroup have. */
    memoryBytesMax: programs.memoryBytesMax ?? Math.floor(usableBytes * partOfMemory),
    /** An absolute path, as programs may have another working directory. */
    socketDir: resolve(dataDir, 'sockets'),
  };
}
