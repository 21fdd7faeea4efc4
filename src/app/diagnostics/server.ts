/** The checks of `parley doctor` that a running server makes of itself, while it serves. */
import type { Config } from '../../config/config.ts';
import type { ServerDiagnostic } from '../../core/entities/server.ts';
import { ok, problem } from '../../core/values/diagnostics.ts';
import { diagnoseArea } from './area.ts';
import { diagnoseClock } from './clock.ts';
import { diagnoseDataFolder } from './data-folder.ts';
import { diagnoseEngine } from './engine.ts';
import { diagnoseOpenFiles } from './open-files.ts';
import { diagnoseStore } from './store.ts';
import { diagnoseTls } from './tls.ts';

/** @param whyNotReady undefined if the server is ready */
export async function diagnoseRunning(
  config: Config,
  whyNotReady: string | undefined,
): Promise<readonly ServerDiagnostic[]> {
  const database = Promise.withResolvers<number | undefined>();
  const areas = await Promise.all([
    diagnoseArea('server', async () => [
      whyNotReady === undefined
        ? ok('readiness', 'It accepts requests.')
        : problem('readiness', whyNotReady, 'Its log says what to do.'),
    ]),
    ...Object.keys(config.engines).map((name) =>
      diagnoseArea(`engine ${name}`, (signal) => diagnoseEngine(config, name, signal)),
    ),
    // Checking the pages would keep requests waiting.
    diagnoseArea('database', async (signal) => {
      try {
        const found = await diagnoseStore(config, { signal, checksPages: false });
        database.resolve(found.newestRecordMs);
        return found.diagnostics;
      } finally {
        database.resolve(undefined);
      }
    }),
    diagnoseArea('data folder', () => diagnoseDataFolder(config.dataDir)),
    diagnoseArea('TLS', () => diagnoseTls(config)),
    diagnoseArea('limits', async () => diagnoseOpenFiles(config, process.pid)),
    diagnoseArea('clock', async () => diagnoseClock(config.dataDir, await database.promise)),
  ]);
  return areas.flatMap(({ area, diagnostics }) => diagnostics.map((diagnostic) => ({ area, ...diagnostic })));
}
