/** The flags that say which configuration and which data folder a command is about. */
import type { Command } from 'commander';
import { type Config, type LoadedConfig, loadConfigWithSources } from '../../config/config.ts';

export interface ConfigFlags {
  readonly config?: string;
  readonly dataDir?: string;
}

/** Those of `serve`, which has a flag for every setting that is changed often. */
export interface ServeConfigFlags extends ConfigFlags {
  readonly host?: string;
  readonly port?: string;
  readonly logLevel?: string;
}

export function withConfigFlags(command: Command): Command {
  return command
    .option('--config <file>', 'the configuration file (default: ./parley.yaml where there is one)')
    .option('--data-dir <folder>', 'the folder of the database (default: ./data)');
}

/** @throws ConfigError */
export function loadWithFlags({ config, dataDir, host, port, logLevel }: ServeConfigFlags): LoadedConfig {
  return loadConfigWithSources({
    env: process.env,
    file: config,
    overrides: { server: { host, port }, dataDir, log: { level: logLevel } },
  });
}

/** @throws ConfigError */
export function configOf(flags: ConfigFlags): Config {
  return loadWithFlags(flags).config;
}
