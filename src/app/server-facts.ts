/** The running server, as its operator sees it. */
import { existsSync } from 'node:fs';
import type { Config } from '../config/config.ts';
import { settingValues } from '../config/setting-values.ts';
import type { Catalog } from '../core/catalog/catalog.ts';
import type { ServerDiagnostic, ServerFacts, ServerState } from '../core/entities/server.ts';
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
async function diagnoseRunning({ config, readiness }: Running): Promise<readonly ServerDiagnostic[]> {
  // Loads the checks of all kinds, which nothing else needs.
  const { diagnoseAreas } = await import('./diagnostics/areas.ts');
  const areas = await diagnoseAreas(config());
  const server = { area: 'server', diagnostics: [diagnoseReadiness(readiness.whyNot())] };
  return [server, ...areas].flatMap(({ area, diagnostics }) =>
    diagnostics.map((diagnostic) => ({ area, ...diagnostic })),
  );
}

function stateOf({ startedAtMs, config, engines, catalog, source }: Running): ServerState {
  const current = config();
  const reasons = new Map(catalog.unavailable().map(({ model, reason }) => [model, reason]));
  return {
    version,
    startedAtMs,
    engines: engines.readings(),
    models: current.models.flatMap((configured) => {
      const model = catalog.find(configured.id);
      const off = (name: string) => disabledReason(current, configured, name) !== undefined;
      const disabled = [configured.engine].flat().every(off);
      const engines = engineNames(current, configured);
      return model ? [{ model, engines, disabled, reason: reasons.get(model.id) }] : [];
    }),
    ...(source && existsSync(source.path) && { configurationFile: configurationFile(current, source) }),
    settings: [...settingValues(current)].map(({ name, value }) => ({ name, value: String(value) })),
  };
}
