/** The running server, as its operator sees it. */
import type { Config } from '../config/config.ts';
import { settingValues } from '../config/setting-values.ts';
import type { Catalog } from '../core/catalog/catalog.ts';
import { problem } from '../core/diagnostics.ts';
import type { ServerDiagnostic, ServerFacts, ServerState } from '../core/ports/server.ts';
import type { Engines } from './engines.ts';
import { version } from './version.ts';

const checkMsMax = 10_000;

interface Running {
  readonly startedAtMs: number;
  /** The configuration in use, which a reload replaces. */
  readonly config: () => Config;
  readonly engines: Engines;
  readonly catalog: Catalog;
}

export function serverFacts(running: Running): ServerFacts {
  return {
    state: () => stateOf(running),
    diagnose: async () => {
      const config = running.config();
      const found = await Promise.all(Object.keys(config.engines).map((name) => diagnose(config, name)));
      return found.flat();
    },
  };
}

function stateOf({ startedAtMs, config, engines, catalog }: Running): ServerState {
  const current = config();
  const reasons = new Map(catalog.unavailable().map(({ model, reason }) => [model, reason]));
  return {
    version,
    startedAtMs,
    engines: engines.readings().map(({ engine, isUp, waiting }) => {
      return { name: engine, kind: current.engines[engine]?.kind ?? '', isUp, waiting };
    }),
    models: current.models.map((model) => ({
      id: model.id,
      type: model.type,
      engines: [model.engine].flat(),
      reason: reasons.get(model.id),
      price: model.type === 'chat' ? model.price : undefined,
    })),
    settings: [...settingValues(current)].map(({ name, value }) => ({ name, value: String(value) })),
  };
}

async function diagnose(config: Config, engine: string): Promise<readonly ServerDiagnostic[]> {
  const area = `engine ${engine}`;
  // Loads the checks of all kinds, which nothing else needs.
  const { diagnoseEngine } = await import('./diagnostics.ts');
  const signal = AbortSignal.timeout(checkMsMax);
  try {
    const found = await diagnoseEngine(config, engine, signal);
    return found.map((diagnostic) => ({ area, ...diagnostic }));
  } catch (error) {
    const advice = 'Run `parley doctor` on the machine of the server, and report this with its output.';
    return [{ area, ...problem('check', `The check itself failed (${String(error)}).`, advice) }];
  }
}
