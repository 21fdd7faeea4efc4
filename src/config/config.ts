/**
 * The configuration: the only reader of the environment and of parley.yaml. Flags stand above variables, those above
 * the file, and that above the defaults. Whatever is wrong is found at once, and nothing unknown is passed over.
 */
import type { z } from 'zod';
import { readConfigFile } from './reader/config-file.ts';
import { readEngineKeys } from './reader/engine-keys.ts';
import { explain } from './reader/explain.ts';
import { ConfigError } from './reader/finding.ts';
import { checkModels } from './reader/model-checks.ts';
import { applyOverrides, applyVariables, type ConfigOverrides } from './reader/overlay.ts';
import { SettingsTree } from './reader/settings-tree.ts';
import type { Source } from './reader/source.ts';
import { readYaml } from './reader/yaml.ts';
import { configSchema } from './schema/config-schema.ts';
import { defaultEngines } from './schema/engines.ts';
import { defaultModels } from './schema/models.ts';
import type { Secret } from './schema/secret.ts';

export { ConfigError, type Finding, findingText } from './reader/finding.ts';
export { type ConfigOverrides, variableNames } from './reader/overlay.ts';
export { type Source, sourceText } from './reader/source.ts';
export { NeedsRestartError, sectionsToRestart } from './reload.ts';
export { configJsonSchema } from './schema/json-schema.ts';
export { Secret } from './schema/secret.ts';
export { configSchema };

type DeepReadonly<T> = T extends bigint | boolean | number | string | undefined
  ? T
  : { readonly [K in keyof T]: DeepReadonly<T[K]> };

/** Validated, with every default filled in, and frozen all the way down. */
export interface Config extends DeepReadonly<z.infer<typeof configSchema>> {
  /** The API keys of engines, by the names of those that have one. */
  readonly engineKeys: Readonly<Record<string, Secret>>;
}
export type ModelConfig = Config['models'][number];
export type EngineConfig = Config['engines'][string];

export { basePath } from '../core/base-path.ts';

export interface ConfigOptions {
  readonly env: NodeJS.ProcessEnv;
  /** The file that `--config` names. Default: that of PARLEY_CONFIG, else ./parley.yaml where there is one. */
  readonly file?: string | undefined;
  /** Settings from the command line. Default: none. */
  readonly overrides?: ConfigOverrides | undefined;
}

export interface LoadedConfig {
  readonly config: Config;
  /** The file that was read, by its name as given. */
  readonly file: string | undefined;
  /** Where a setting such as `server.port` or `models[0].price.input` got its value. */
  sourceOf(setting: string): Source;
}

/** Throws ConfigError with every finding. */
export function loadConfig(options: ConfigOptions): Config {
  return loadConfigWithSources(options).config;
}

/** As loadConfig, for who shows settings to people. */
export function loadConfigWithSources({ env, file, overrides = {} }: ConfigOptions): LoadedConfig {
  const found = readConfigFile(file, env);
  const { tree, findings, complete } =
    found === undefined
      ? { tree: new SettingsTree(), findings: [], complete: true }
      : readYaml(found.file, found.text);
  if (!complete) throw new ConfigError(findings);
  // With these in the tree, variables can reach into the default engine, and checks see what will be used.
  tree.fill('engines', structuredClone(defaultEngines));
  tree.fill('models', structuredClone(defaultModels));
  const all = [...findings, ...applyVariables(tree, env)];
  applyOverrides(tree, overrides);
  const result = configSchema.safeParse(tree.root);
  if (!result.success) all.push(...result.error.issues.flatMap((issue) => explain(issue, tree)));
  const { keys: engineKeys, findings: unread } = readEngineKeys(tree, env);
  all.push(...checkModels(tree), ...unread);
  if (!result.success || all.length > 0) throw new ConfigError(all);
  return {
    config: Object.freeze({ ...deepFreeze(result.data), engineKeys: Object.freeze(engineKeys) }),
    file: found?.file,
    sourceOf: (setting) => tree.sourceOf(setting),
  };
}

function deepFreeze<T>(value: T): DeepReadonly<T>;
function deepFreeze(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value;
  for (const inner of Object.values(value)) deepFreeze(inner);
  return Object.freeze(value);
}
