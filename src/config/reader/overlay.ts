/** What is set outside the file: by variables of the environment, and by flags on the command line above them. */
import type { z } from 'zod';
import type { configSchema } from '../schema/config-schema.ts';
import type { Finding } from './finding.ts';
import { type ScalarSetting, scalarSettings } from './schema-walk.ts';
import { nameWords, pathText, type SettingPath } from './setting-path.ts';
import { isMap, type SettingsTree } from './settings-tree.ts';
import type { Source } from './source.ts';
import { didYouMean } from './suggestion.ts';

const prefix = 'PARLEY_';
/** Names that people know from elsewhere. The long name works as well. */
const shortNames = new Map([
  ['server.host', `${prefix}HOST`],
  ['server.port', `${prefix}PORT`],
]);
/** Variables that are no settings: where the file is, and what the commands that call a server read. */
const otherVariables = ['PARLEY_CONFIG', 'PARLEY_API_KEY', 'PARLEY_ADMIN_KEY', 'PARLEY_BASE_URL'];

type Override<T> = T extends readonly unknown[]
  ? T
  : T extends object
    ? { readonly [K in keyof T]?: Override<T[K]> }
    : T | string | undefined;

/** Settings from the command line. A text is read as strictly as a variable's, so flags can be handed on as they came. */
export type ConfigOverrides = Override<z.input<typeof configSchema>>;

/** The variables of a setting, the one to show first: `PARLEY_LOG_LEVEL`, or a short name and the long one. */
export function variableNames(path: SettingPath): readonly [string, ...string[]] {
  const long = `${prefix}${path
    .flatMap((part) => nameWords(String(part)))
    .join('_')
    .toUpperCase()}`;
  const short = shortNames.get(pathText(path));
  return short === undefined ? [long] : [short, long];
}

/** Sets what the environment says. A PARLEY_ variable that is no setting is a finding. */
export function applyVariables(tree: SettingsTree, env: NodeJS.ProcessEnv): Finding[] {
  const settings = new Map<string, ScalarSetting>();
  for (const setting of scalarSettings(tree).values()) {
    for (const name of variableNames(setting.path)) settings.set(name, setting);
  }
  const findings: Finding[] = [];
  const names = Object.keys(env).filter((name) => name.startsWith(prefix) && !otherVariables.includes(name));
  for (const name of names.sort()) {
    const text = env[name];
    const setting = settings.get(name);
    if (text === undefined) continue;
    const finding =
      setting === undefined
        ? unknownVariable(name, [...settings.keys()])
        : applyVariable(tree, setting, name, text);
    if (finding !== undefined) findings.push(finding);
  }
  return findings;
}

function applyVariable(
  tree: SettingsTree,
  setting: ScalarSetting,
  name: string,
  text: string,
): Finding | undefined {
  const source: Source = { kind: 'variable', name };
  const path = pathText(setting.path);
  const refuse = (message: string): Finding => ({ source, setting: path, message });
  if (text === '') return refuse(`The variable for \`${path}\` is empty. Give it a value, or do not set it.`);
  const earlier = tree.nameSource(setting.path);
  if (earlier.kind === 'variable')
    return refuse(`\`${path}\` is set by ${earlier.name} as well. Keep one of them.`);
  tree.set(setting.path, fromText(setting, text), source);
  return undefined;
}

function unknownVariable(name: string, known: readonly string[]): Finding {
  const bare = [...known, ...otherVariables].map((candidate) => candidate.slice(prefix.length));
  const meant = didYouMean(name.slice(prefix.length), bare);
  return {
    source: { kind: 'variable', name },
    setting: '',
    message: `No setting has the variable ${name}.`,
    suggestion: meant === undefined ? undefined : `${prefix}${meant}`,
  };
}

/** Sets what the command line says, above all else. */
export function applyOverrides(tree: SettingsTree, overrides: ConfigOverrides): void {
  const settings = scalarSettings(tree);
  const apply = (value: unknown, path: SettingPath): void => {
    if (isMap(value)) {
      for (const [name, inner] of Object.entries(value)) apply(inner, [...path, name]);
    } else if (value !== undefined) {
      const setting = settings.get(pathText(path));
      const read = setting !== undefined && typeof value === 'string' ? fromText(setting, value) : value;
      tree.set(path, read, { kind: 'flag', name: flagName(path) });
    }
  };
  apply(overrides, []);
}

/** The flag of a setting: that of its variable in the spelling of flags, `--port` or `--data-dir`. */
function flagName(path: SettingPath): string {
  return `--${variableNames(path)[0].slice(prefix.length).toLowerCase().replaceAll('_', '-')}`;
}

/** A number as it is written plainly, with decimals or without. */
const plainNumber = /^(?!-0$)-?(0|[1-9]\d*)(\.\d*[1-9])?$/;

/** The schema refuses any other text where a number, or `true` or `false`, belongs. */
function fromText({ kind }: ScalarSetting, text: string): string | number | boolean {
  if (kind === 'number' && plainNumber.test(text)) return Number(text);
  return kind === 'boolean' && ['true', 'false'].includes(text) ? text === 'true' : text;
}
