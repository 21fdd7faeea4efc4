/** The areas that both `parley doctor` and a running server check. */
import type { Config } from '../../config/config.ts';
import { warning } from '../../core/values/diagnostics.ts';
import { type Check, type DiagnosedArea, diagnoseArea } from './area.ts';
import { diagnoseClock } from './clock.ts';
import { diagnoseDataFolder } from './data-folder.ts';
import { diagnosedEngines, diagnoseEngine } from './engine.ts';
import { diagnoseMail } from './mail.ts';
import { diagnoseOpenFiles } from './open-files.ts';
import { diagnoseStore } from './store.ts';
import { diagnoseTls } from './tls.ts';

interface AreaOptions {
  /** Process id of the running server; undefined if there is none. */
  readonly pid: number | undefined;
  /** Whether to read all pages of an SQLite database, which blocks this process. */
  readonly checksPages: boolean;
  /** Paths of invalid settings. The areas that depend on them are not checked. Default: none. */
  readonly leftOut?: readonly string[];
  /** Checks the ports. Default: they are not checked. */
  readonly ports?: Check;
}

export async function diagnoseAreas(
  config: Config,
  { pid, checksPages, leftOut = [], ports }: AreaOptions,
): Promise<DiagnosedArea[]> {
  const { dataDir } = config;
  const isLeftOut = (setting: string) =>
    leftOut.some((path) => path === setting || path.startsWith(`${setting}.`));
  const area = (name: string, settings: readonly string[], check: Check) =>
    settings.some(isLeftOut) ? notChecked(name) : diagnoseArea(name, check);
  const engines = Promise.all(
    diagnosedEngines(config).map((name) =>
      diagnoseArea(`engine ${name}`, (signal) => diagnoseEngine(config, name, signal)),
    ),
  );
  const machine = Promise.all([
    area('data folder', ['dataDir'], () => diagnoseDataFolder(dataDir)),
    ...(ports ? [area('ports', ['dataDir', 'server', 'admin', 'tls'], ports)] : []),
    area('TLS', ['tls'], () => diagnoseTls(config)),
    ...(config.alerts.smtp ? [area('mail', ['alerts'], () => diagnoseMail(config))] : []),
    area('limits', ['dataDir', 'server', 'admin'], async () => diagnoseOpenFiles(config, pid)),
  ]);
  // Reading the pages starts when no other check is waiting.
  if (checksPages) await Promise.all([engines, machine]);
  let newestRecordMs: number | undefined;
  const database = await area('database', ['dataDir', 'store'], async (signal) => {
    const found = await diagnoseStore(config, { signal, checksPages });
    newestRecordMs = found.newestRecordMs;
    return found.diagnostics;
  });
  const clock = await area('clock', ['dataDir', 'store'], async () => diagnoseClock(dataDir, newestRecordMs));
  return [...(await engines), database, ...(await machine), clock];
}

export function notChecked(area: string): DiagnosedArea {
  const found = 'This is not checked: its settings are invalid.';
  return { area, diagnostics: [warning('settings', found, 'Correct the configuration, then try again.')] };
}
