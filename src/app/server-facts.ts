/** The running server, as its operator sees it. */
import { existsSync } from 'node:fs';
import { timestampFromMs } from '@bufbuild/protobuf/wkt';
import type { Config } from '../config/config.ts';
import { settingValues } from '../config/setting-values.ts';
import type { Catalog } from '../core/catalog/catalog.ts';
import { describeModel } from '../core/catalog/views.ts';
import type { CatalogModel } from '../core/entities/model.ts';
import type { EngineRequests, EngineState, ProgramState, ServerFacts } from '../core/entities/server.ts';
import { present } from '../core/values/json.ts';
import { FileEditor } from './configuration-editor.ts';
import { type ConfigSource, configurationFile } from './configuration-file.ts';
import { readiness as diagnoseReadiness } from './diagnostics/machine.ts';
import type { Engines } from './engines.ts';
import { disabledReason, engineNames } from './local-programs.ts';
import type { Readiness } from './readiness.ts';
import { version } from './version.ts';

interface Running {
  readonly startedAtMs: number;
  /** The configuration in use, which a reload replaces. */
  readonly config: () => Config;
  readonly engines: Engines;
  readonly catalog: Catalog;
  readonly readiness: Readiness;
  /** Undefined without a configuration file. */
  readonly source: ConfigSource | undefined;
}

export function serverFacts(running: Running): ServerFacts {
  const { engines, source } = running;
  return {
    state: () => stateOf(running),
    load: (engine) => engines.program(engine).load(),
    unload: (engine) => engines.program(engine).unload(),
    editor: source && new FileEditor({ source, config: running.config }),
    diagnose: () => diagnoseRunning(running),
    // Loads the checks, which nothing else needs.
    check: async (engine) => (await import('./diagnostics/areas.ts')).checkNewEngine(engine),
  };
}

/** The checks of `parley doctor` that a running server makes of itself. */
async function diagnoseRunning({ config, readiness }: Running) {
  // Loads the checks of all kinds, which nothing else needs.
  const { diagnoseAreas } = await import('./diagnostics/areas.ts');
  const areas = await diagnoseAreas(config());
  const server = { area: 'server', diagnostics: [diagnoseReadiness(readiness.whyNot())] };
  return [server, ...areas].flatMap(({ area, diagnostics }) =>
    diagnostics.map((diagnostic) => ({ area, ...diagnostic })),
  );
}

function stateOf({ startedAtMs, config, engines, catalog, source }: Running) {
  const current = config();
  const reasons = new Map(catalog.unavailable().map(({ model, reason }) => [model, reason]));
  return {
    version,
    startedAt: timestampFromMs(startedAtMs),
    engines: engines.readings().map(describeEngine),
    models: current.models.flatMap((configured) => {
      const model = catalog.find(configured.id);
      const off = (name: string) => disabledReason(current, configured, name) !== undefined;
      const disabled = [configured.engine].flat().every(off);
      const engines = engineNames(current, configured);
      return model ? [{ ...describeModelState(model, reasons.get(model.id)), engines, disabled }] : [];
    }),
    ...(source && existsSync(source.path) && { configurationFile: configurationFile(current, source) }),
    settings: [...settingValues(current)].map(({ name, value }) => ({ name, value: String(value) })),
  };
}

function describeEngine({ isUp, program, fileBytes, requests, ...engine }: EngineState) {
  return {
    ...engine,
    up: isUp,
    ...(fileBytes !== undefined && { fileBytes: BigInt(fileBytes) }),
    ...(program && { program: describeProgram(program) }),
    requests: describeRequests(requests),
  };
}

function describeRequests({ firstOutputMs, lastFailure, ...counts }: EngineRequests) {
  const { median = 0, p95 = 0 } = firstOutputMs ?? {};
  const { atMs = 0, ...failure } = lastFailure ?? {};
  return {
    ...counts,
    ...(firstOutputMs && { firstOutputMsMedian: Math.round(median), firstOutputMsP95: Math.round(p95) }),
    ...(lastFailure && { lastFailure: { ...failure, at: timestampFromMs(atMs) } }),
  };
}

function describeProgram({ memoryBytes, lastUsedAtMs, ...state }: ProgramState) {
  const used = lastUsedAtMs !== undefined && { lastUsedAt: timestampFromMs(lastUsedAtMs) };
  return { ...state, ...used, memoryBytes: BigInt(memoryBytes) };
}

/** @param reason why it cannot be called */
function describeModelState(catalogModel: CatalogModel, reason: string | undefined) {
  const model = describeModel(catalogModel);
  const { id, type, fallback, price } = model;
  const { input: inputPrice, output: outputPrice, cachedInput: cachedInputPrice } = price ?? {};
  const prices = { inputPrice, outputPrice, cachedInputPrice, cacheWritePrice: price?.cacheWrite };
  const available = reason === undefined;
  return { model, id, type, fallback, available, ...present({ reason, ...prices }) };
}
