/** Reads the configuration for a command. Loaded by the commands that need it, when they run. */
import {
  type Config,
  type ConfigOptions,
  type LoadedConfig,
  loadConfigWithSources,
  loadValidPart,
  type PartialConfig,
} from '../config/config.ts';
import { hasMoonshine } from '../media/hearing-files.ts';
import type { ConfigFlags, ServeConfigFlags } from './flags.ts';
import { printStatus } from './terminal/terminal.ts';

/** @param text the content of the file, in place of its own @throws ConfigError */
export function loadWithFlags(flags: ServeConfigFlags, text?: string): LoadedConfig {
  return loadConfigWithSources({ ...configOptions(flags), text });
}

/** The valid part of an invalid configuration. */
export function loadValidWithFlags(flags: ConfigFlags): PartialConfig | undefined {
  return loadValidPart(configOptions(flags));
}

/** The sources of settings for a command. */
function configOptions({ config, dataDir, host, port, logLevel }: ServeConfigFlags): ConfigOptions {
  const overrides = { server: { host, port }, dataDir, log: { level: logLevel } };
  return { env: process.env, file: config, overrides, recogniser: recogniserId() };
}

/** The id of the recogniser inside Parley. It changes when set-up has fetched Moonshine. */
export function recogniserId(): string {
  return hasMoonshine() ? 'moonshine-tiny-en' : 'pocketsphinx';
}

/** A command may read the configuration more than once, but warns once. */
const shownWarnings = new Set<string>();

/**
 * Warns on standard error about settings that have no effect.
 * @throws ConfigError
 */
export function configOf(flags: ConfigFlags): Config {
  const { config, warnings } = loadWithFlags(flags);
  for (const warning of warnings) {
    if (!shownWarnings.has(warning)) printStatus(warning);
    shownWarnings.add(warning);
  }
  return config;
}
