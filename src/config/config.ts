/**
 * The configuration: the only reader of the environment and of parley.yaml. Flags win over variables, variables over the
 * file, the file over the defaults. All problems are reported at once, and unknown names are refused.
 */
import { isDeepStrictEqual } from 'node:util';
import type { z } from 'zod';
import { findConfigFile } from './reader/config-file.ts';
import { dropSettings } from './reader/dropped-settings.ts';
import { ConfigError, type Source } from './reader/finding.ts';
import { checkModels } from './reader/model-checks.ts';
import { applyOverrides, applyVariables, type ConfigOverrides } from './reader/overrides.ts';
import { addSchemaFindings, validPart } from './reader/schema-findings.ts';
import { readSecrets, Secret, type Secrets } from './reader/secrets.ts';
import type { SettingPath } from './reader/setting-path.ts';
import { SettingsTree } from './reader/settings-tree.ts';
import { configSchema, defaultConversations } from './schema/config-schema.ts';
import { defaultEngines } from './schema/engines.ts';
import { defaultModels } from './schema/models.ts';

export { ConfigError, type Finding, sourceText } from './reader/finding.ts';
export type { ConfigOverrides } from './reader/overrides.ts';

type DeepReadonly<T> = T extends bigint | boolean | number | string | undefined
  ? T
  : { readonly [K in keyof T]: DeepReadonly<T[K]> };

/** Valid, with every default filled in, and deeply frozen. */
export interface Config extends DeepReadonly<z.infer<typeof configSchema>>, Secrets {
  /** The environment of the programs that Parley starts: nothing that they do not need, and no secret. */
  readonly programEnvironment: Readonly<Record<string, string>>;
}
export type ModelConfig = Config['models'][number];
export type EngineConfig = Config['engines'][string];

export interface ConfigOptions {
  readonly env: NodeJS.ProcessEnv;
  /** The file that `--config` names. Default: the one that PARLEY_CONFIG names, else ./parley.yaml if it exists. */
  readonly file?: string | undefined;
  /** The content of the file, in place of its own. */
  readonly text?: string | undefined;
  /** Settings from the command line. Default: none. */
  readonly overrides?: ConfigOverrides | undefined;
  /** The id of the transcription model among the default models. Default: `pocketsphinx`. */
  readonly recogniser?: string | undefined;
}

export interface LoadedConfig {
  readonly config: Config;
  /** The path of the file as given; undefined without a file. */
  readonly file: string | undefined;
  /** Whole sentences about settings that have no effect. */
  readonly warnings: readonly string[];
  sourceOf(path: SettingPath): Source;
}

/** @throws ConfigError with every finding */
export function loadConfig(options: ConfigOptions): Config {
  return loadConfigWithSources(options).config;
}

/** @throws ConfigError with every finding */
export function loadConfigWithSources(options: ConfigOptions): LoadedConfig {
  const { found, tree, secrets } = readTree(options);
  const { success, data, error } = configSchema.safeParse(tree.root);
  for (const issue of error?.issues ?? []) addSchemaFindings(issue, tree);
  if (!success || tree.findings.length > 0) throw new ConfigError(tree.findings);
  return {
    config: frozen(data, secrets, options.env),
    file: found?.file,
    warnings: tree.warnings,
    sourceOf: (path) => tree.sourceOf(path),
  };
}

export interface PartialConfig {
  readonly config: Config;
  /** The settings that are left out because they are invalid, such as `server.port` or `engines.far`. */
  readonly leftOut: readonly string[];
}

/** The valid part of an invalid configuration; undefined if there is too little of it, such as for a file that is not YAML. */
export function loadValidPart(options: ConfigOptions): PartialConfig | undefined {
  try {
    const { tree, secrets } = readTree(options);
    const valid = validPart(tree.root);
    if (valid === undefined) return undefined;
    const engines = Object.entries(valid.settings.engines);
    const keyless = engines.filter(
      ([name, engine]) => needsKey(engine) && secrets.engineKeys[name] === undefined,
    );
    const settings = {
      ...valid.settings,
      engines: Object.fromEntries(engines.filter((one) => !keyless.includes(one))),
    };
    const leftOut = [...valid.leftOut, ...keyless.map(([name]) => `engines.${name}`)];
    return { config: frozen(settings, secrets, options.env), leftOut };
  } catch (error) {
    if (error instanceof ConfigError) return undefined;
    throw error;
  }
}

function needsKey(engine: z.infer<typeof configSchema>['engines'][string]): boolean {
  return (
    (engine.kind === 'openai' || engine.kind === 'remote' || engine.kind === 'anthropic') &&
    (engine.apiKeyEnv ?? engine.apiKeyFile) !== undefined
  );
}

/** Reads all sources. The findings so far are those that no schema has. */
function readTree({ env, file, text, overrides = {}, recogniser }: ConfigOptions) {
  const found = findConfigFile(file, env, text);
  const tree = new SettingsTree(found);
  // Defaults come before the variables, which can then set the default engine, and before the checks.
  tree.root['engines'] ??= structuredClone(defaultEngines);
  const hasOwnModels = (tree.root['models'] ?? overrides.models) !== undefined;
  if (!hasOwnModels) tree.root['realtime'] ??= defaultConversations(recogniser);
  tree.root['models'] ??= defaultModels(recogniser);
  dropSettings(tree);
  applyVariables(tree, env);
  applyOverrides(tree, overrides);
  checkModels(tree);
  return { found, tree, secrets: readSecrets(tree, env) };
}

function frozen(
  settings: z.infer<typeof configSchema>,
  { engineKeys, ...secrets }: Secrets,
  { PATH, HOME }: NodeJS.ProcessEnv,
): Config {
  const programEnvironment = { LANG: 'C.UTF-8', ...(PATH && { PATH }), ...(HOME && { HOME }) };
  return Object.freeze({
    ...deepFreeze(settings),
    engineKeys: Object.freeze(engineKeys),
    programEnvironment: Object.freeze(programEnvironment),
    ...secrets,
  });
}

function deepFreeze<T>(value: T): DeepReadonly<T>;
function deepFreeze(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value;
  for (const inner of Object.values(value)) deepFreeze(inner);
  return Object.freeze(value);
}

/** Sections that a running server can replace. The others are bound to its port, its store or its start. */
const reloadable: ReadonlySet<string> = new Set([
  'engines',
  'engineKeys',
  'models',
  'realtime',
  'fairUse',
  'log',
]);

/** @throws Error, naming the sections, if `next` differs from `running` in sections that only a restart can replace */
export function checkReload(running: Config, next: Config): void {
  const names = new Set([...Object.keys(running), ...Object.keys(next)]);
  const changed = [...names].filter(
    (name) => !reloadable.has(name) && !isSame(Reflect.get(running, name), Reflect.get(next, name)),
  );
  if (changed.length === 0) return;
  const sections = changed.map((name) => `\`${name}\``).join(', ');
  throw new Error(
    `${sections} cannot change while the server runs. Restart it, or undo that change; the running configuration stays.`,
  );
}

/** A secret hides its value from a comparison of members. */
function isSame(one: unknown, other: unknown): boolean {
  if (one instanceof Secret && other instanceof Secret) return one.reveal() === other.reveal();
  return isDeepStrictEqual(one, other);
}
