/** The areas of `parley doctor` and of the check of a running server. */
import type * as z from 'zod';
import type { Config, EngineConfig, ModelConfig } from '../../config/config.ts';
import { anthropicEngine, openaiEngine, remoteEngine } from '../../config/schema/upstream-engine.ts';
import type { CheckedEngine } from '../../core/entities/server.ts';
import { type Diagnostic, graded, ok, problem, warning } from '../../core/values/diagnostics.ts';
import { invalid } from '../../core/values/parameters.ts';
import { toUpstream } from '../../engines/anthropic/index.ts';
import { diagnoseBuiltin } from '../../engines/builtin/diagnostics.ts';
import type { DiagnosedModel, Diagnosis } from '../../engines/diagnostics.ts';
import { diagnoseOpenAi } from '../../engines/openai/diagnostics.ts';
import { diagnoseProcess } from '../../engines/process/diagnostics.ts';
import { ModelError } from '../../models/manifest.ts';
import { ModelStore } from '../../models/model-store.ts';
import { diagnoseStore as diagnoseSqlite, type StoreDiagnosis } from '../../store/maintenance/diagnostics.ts';
import { checkContents } from '../local-files.ts';
import {
  engineNames,
  type LocalEngine,
  openedEngines,
  programSurroundings,
  smallestModels,
} from '../local-programs.ts';
import { tryModel } from '../tried-model.ts';
import {
  diagnoseClock,
  diagnoseDataFolder,
  diagnoseMail,
  diagnoseOpenFiles,
  diagnoseTls,
} from './machine.ts';

/** An area, such as the data folder or an engine. */
export interface DiagnosedArea {
  readonly area: string;
  readonly diagnostics: readonly Diagnostic[];
}

type Check = (signal: AbortSignal) => Promise<readonly Diagnostic[]>;

/** A running server checks neither its ports nor what would keep requests waiting: pages of the database, and models. */
interface DoctorOptions {
  /** Process id of the running server; undefined if there is none. */
  readonly pid: number | undefined;
  /** Paths of invalid settings. The areas that depend on them are not checked. */
  readonly leftOut: readonly string[];
  readonly ports: Check;
  readonly onStep: (what: string) => void;
}

/** @param doctor undefined for a running server */
export async function diagnoseAreas(config: Config, doctor?: DoctorOptions): Promise<DiagnosedArea[]> {
  const { pid, leftOut, onStep } = doctor ?? { pid: process.pid, leftOut: [], onStep: () => undefined };
  const { dataDir, alerts } = config;
  const isLeftOut = (setting: string) =>
    leftOut.some((path) => path === setting || path.startsWith(`${setting}.`));
  const area = (name: string, settings: readonly string[], check: Check, msMax?: number) => {
    if (settings.some(isLeftOut)) return notChecked(name);
    onStep(name);
    return diagnoseArea(name, check, msMax);
  };
  const onTable = (name: string, place: string) => onStep(`database, table ${name} (${place})`);
  const others = Promise.all([
    ...diagnosedEngines(config).map((name) =>
      area(`engine ${name}`, [], (signal) => diagnoseEngine(config, name, signal)),
    ),
    ...(doctor
      ? [
          area('local models', ['dataDir'], (signal) => loadModels(config, signal), loadMsMax),
          area('ports', ['dataDir', 'server', 'admin', 'tls'], doctor.ports),
        ]
      : []),
    area('data folder', ['dataDir'], () => diagnoseDataFolder(dataDir)),
    area('TLS', ['tls'], () => diagnoseTls(config)),
    ...(alerts.smtp ? [area('mail', ['alerts'], () => diagnoseMail(config))] : []),
    area('limits', ['dataDir', 'server', 'admin'], async () => diagnoseOpenFiles(config, pid)),
    area('clock', ['dataDir'], async () => diagnoseClock(dataDir)),
  ]);
  // Reading the pages starts when no other check is waiting.
  if (doctor) await others;
  const database = await area('database', ['dataDir', 'store'], (signal) =>
    diagnoseStore(config, { signal, checksPages: doctor !== undefined, onTable }),
  );
  return [...(await others), database].filter(({ diagnostics }) => diagnostics.length > 0);
}

/** Models may be read from a slow disk. */
const loadMsMax = 120_000;

/** Loads the smallest model of each runtime, one after the other: two may need more memory than there is. */
async function loadModels(config: Config, signal: AbortSignal): Promise<readonly Diagnostic[]> {
  const diagnostics: Diagnostic[] = [];
  for (const [runtime, local] of smallestModels(config)) {
    if ('advice' in local.program) continue;
    const flaw = await tryModel(local, config, signal);
    const found = flaw === undefined ? `It loads ${local.model}.` : `It cannot run ${local.model}: ${flaw}.`;
    const advice = `Run \`parley runtimes install ${runtime}\`, or \`parley models verify ${local.model}\`.`;
    diagnostics.push(graded(flaw === undefined ? 'ok' : 'problem', `runtime ${runtime}`, found, advice));
  }
  return diagnostics;
}

export function notChecked(area: string): DiagnosedArea {
  const found = 'This is not checked: its settings are invalid.';
  return { area, diagnostics: [warning('settings', found, 'Correct the configuration, then try again.')] };
}

/** A check that fails or takes too long becomes a problem like any other. */
export async function diagnoseArea(area: string, check: Check, msMax = 10_000): Promise<DiagnosedArea> {
  const signal = AbortSignal.timeout(msMax);
  const late = new Promise<readonly Diagnostic[]>((resolve) => {
    const found = `This took longer than ${msMax / 1000} s.`;
    const advice = 'Try again when the machine is less busy.';
    signal.addEventListener('abort', () => resolve([problem('time', found, advice)]));
  });
  const failed = (error: unknown) => [
    error instanceof ModelError
      ? problem('files', error.message, 'Remove the model, and import it with the right files.')
      : problem('check', `The check itself failed (${String(error)}).`, 'Report this.'),
  ];
  return { area, diagnostics: await Promise.race([late, check(signal)]).catch(failed) };
}

async function diagnoseStore({ dataDir, store, storeUrl }: Config, diagnosis: StoreDiagnosis) {
  if (store.kind === 'sqlite') return diagnoseSqlite(dataDir, diagnosis);
  if (storeUrl === undefined) throw new Error('there is no URL of the database');
  const { diagnosePostgres } = await import('../../store/postgres/diagnostics.ts');
  return diagnosePostgres({ url: storeUrl.reveal(), connectionsMax: store.connectionsMax });
}

/** The engines to check: those of the running server, and those of the configuration that serve no model. */
function diagnosedEngines(config: Config): string[] {
  const opened = [...openedEngines(config).keys()];
  const isUsed = (name: string) => opened.some((one) => one === name || one.startsWith(`${name}/`));
  return [...opened, ...Object.keys(config.engines).filter((name) => !isUsed(name))];
}

/** Checks that an engine can serve its models. Does not open the engine and costs nothing. */
async function diagnoseEngine(
  config: Config,
  name: string,
  signal: AbortSignal,
): Promise<readonly Diagnostic[]> {
  const models = config.models.filter((model) => engineNames(config, model).includes(name)).map(diagnosed);
  if (models.length === 0) {
    return [warning('models', 'It serves no model.', 'Name it in `models`, or remove it from `engines`.')];
  }
  const settings = openedEngines(config).get(name);
  if (settings === undefined) throw new Error(`there is no engine ${name}`);
  if (settings.disabled) return [ok('disabled', 'It serves nothing for now, so it is not checked.')];
  const diagnosis = { name, apiKey: config.engineKeys[name]?.reveal(), models, signal };
  switch (settings.kind) {
    case 'builtin':
      return diagnoseBuiltin(diagnosis);
    case 'local':
      return diagnoseLocal(settings, config, diagnosis);
    case 'anthropic':
    case 'openai':
    case 'remote':
      return (await diagnoseOpenAi(upstreamOf(settings), diagnosis)).diagnostics;
    case 'process':
      return diagnoseProcess(settings, programSurroundings(config), diagnosis);
  }
}

type UpstreamEngine =
  | Extract<EngineConfig, { readonly kind: CheckedEngine['kind'] }>
  | z.output<(typeof checkedSchemas)[CheckedEngine['kind']]>;

function upstreamOf(settings: UpstreamEngine) {
  return settings.kind === 'anthropic'
    ? ({ ...toUpstream(settings), chatPath: '/messages', outputLimit: 'max_tokens' } as const)
    : { ...settings, isParley: settings.kind === 'remote' };
}

async function diagnoseLocal(local: LocalEngine, config: Config, diagnosis: Diagnosis) {
  const { program, fileBytes, dataDir, model } = local;
  if ('advice' in program) return [problem('model', program.found, program.advice)];
  await checkContents(new ModelStore(dataDir).resolve(model));
  const files = ok('files', `They have ${Math.round(fileBytes / 1e6)} MB.`);
  return [files, ...diagnoseProcess(program, programSurroundings(config), diagnosis)];
}

function diagnosed(model: ModelConfig): DiagnosedModel {
  const { id, type } = model;
  const needsContext = model.type === 'chat' && model.contextTokens === undefined;
  if (model.type !== 'speech') return { id, type, voices: [], needsContext };
  const own = model.voices ? Object.values(model.voices) : [model.defaultVoice];
  return { id, type, needsContext, voices: own.filter((voice) => voice !== undefined) };
}

const checkedSchemas = { openai: openaiEngine, anthropic: anthropicEngine, remote: remoteEngine } as const;

/** A model may have to be loaded for its first token. */
const checkMsMax = 30_000;
const listedMax = 200;
const nameCharactersMax = 200;

/**
 * Checks a server that may become an engine, by the checks of engines. Nothing of it is kept.
 * @throws `invalid_parameter` for a URL that the configuration does not allow
 */
export async function checkNewEngine(engine: CheckedEngine) {
  const { kind, url, apiKey, models, asksChat } = engine;
  const { data: settings, error } = checkedSchemas[kind].safeParse({ kind, baseUrl: url });
  if (settings === undefined) throw invalid('url', `\`url\` must be ${error?.issues[0]?.message}.`);
  const diagnosis = {
    name: 'checked',
    apiKey,
    keyAdvice: 'Enter the key of that server in the form.',
    models: models.map(({ name, type }) => ({ id: name, type, voices: [], needsContext: type === 'chat' })),
  };
  let names: readonly string[] = [];
  const check = async (signal: AbortSignal) => {
    const { diagnostics, listed } = await diagnoseOpenAi(
      upstreamOf(settings),
      { ...diagnosis, signal },
      asksChat,
    );
    names = listed;
    return diagnostics;
  };
  const area = `engine ${url}`;
  const { diagnostics } = await diagnoseArea(area, check, checkMsMax);
  return {
    diagnostics: diagnostics.map((diagnostic) => ({ area, ...diagnostic })),
    models: names.slice(0, listedMax).map((name) => name.slice(0, nameCharactersMax)),
  };
}
