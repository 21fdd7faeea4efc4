/** The configuration file of a running server: what a reload would change. */
import { type Config, checkReload } from '../config/config.ts';
import { settingValues } from '../config/setting-values.ts';

export interface ConfigSource {
  /** The path of the file, as given. */
  readonly path: string;
  /** Reads the configuration again. @param text the content of the file, in place of its own @throws ConfigError */
  readonly read: (text?: string) => Config;
  /** Lets the server use the file. Resolves with the reason if it cannot. */
  readonly apply: () => Promise<string | undefined>;
  /** The id of the recogniser inside Parley. */
  readonly recogniser: () => string;
}

const changedMax = 100;

export function configurationFile(running: Config, { path, read }: ConfigSource) {
  let changed: string[] = [];
  try {
    const next = read();
    changed = changedSettings(running, next);
    checkReload(running, next);
    return { path, changed };
  } catch (error) {
    return { path, changed, problem: error instanceof Error ? error.message : String(error) };
  }
}

/** Names of some settings with other values, or in one of the two only. A secret has no value here. */
function changedSettings(running: Config, next: Config): string[] {
  const [before, after] = [running, next].map(
    (config) => new Map([...settingValues(config)].map(({ name, value }) => [name, value])),
  );
  const names = new Set([...(before?.keys() ?? []), ...(after?.keys() ?? [])]);
  return [...names].filter((name) => before?.get(name) !== after?.get(name)).slice(0, changedMax);
}
