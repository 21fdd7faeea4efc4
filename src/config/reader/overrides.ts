/** Settings from outside the file: variables of the environment, and above them flags of the command line. */
import type { z } from 'zod';
import { didYouMean, nameWords } from '../../core/values/suggestion.ts';
import type { configSchema } from '../schema/config-schema.ts';
import { dropped } from './dropped-settings.ts';
import type { Source } from './finding.ts';
import { type ScalarSetting, scalarSettings } from './scalar-settings.ts';
import { isMap, pathText, type SettingPath } from './setting-path.ts';
import type { SettingsTree } from './settings-tree.ts';

const prefix = 'PARLEY_';
/** Short names for the variables that people use most. The long ones work as well. */
const shortNames = new Map([
  ['server.host', `${prefix}HOST`],
  ['server.port', `${prefix}PORT`],
]);
/** Variables with the prefix that are not settings: the path of the file, and those of client commands. */
const otherVariables = [
  ...['PARLEY_CONFIG', 'PARLEY_API_KEY', 'PARLEY_ADMIN_KEY', 'PARLEY_BASE_URL', 'PARLEY_MODELS_TOKEN'],
];

type Override<T> = T extends readonly unknown[]
  ? T
  : T extends object
    ? { readonly [K in keyof T]?: Override<T[K]> }
    : T | string | undefined;

/** Settings from the command line. A text is read like that of a variable, so flags can be passed as they are. */
export type ConfigOverrides = Override<z.input<typeof configSchema>>;

/** The variables of a setting: `PARLEY_LOG_LEVEL`, or the short name and the long one. */
function variableNames(path: SettingPath): readonly [string, ...string[]] {
  const words = path.flatMap((part) => nameWords(String(part)));
  const long = prefix + words.join('_').toUpperCase();
  const short = shortNames.get(pathText(path));
  return short === undefined ? [long] : [short, long];
}

/** Applies the variables of the environment. A PARLEY_ variable that is not a setting is a finding. */
export function applyVariables(tree: SettingsTree, env: NodeJS.ProcessEnv): void {
  const settings = new Map<string, ScalarSetting>();
  for (const setting of scalarSettings(tree).values()) {
    for (const name of variableNames(setting.path)) settings.set(name, setting);
  }
  for (const [name, text] of Object.entries(env).sort()) {
    if (!name.startsWith(prefix) || otherVariables.includes(name) || text === undefined) continue;
    const ignored = whyIgnored(name, text) ?? (settings.has(name) ? undefined : insteadOf(name));
    if (ignored !== undefined) {
      tree.warnings.push(`${name} is ignored: ${ignored}`);
      continue;
    }
    const source: Source = { kind: 'variable', name };
    const setting = settings.get(name);
    if (setting === undefined) {
      const message = `No setting has the variable ${name}.`;
      tree.findings.push({ source, setting: '', message, suggestion: similarVariable(name, settings) });
    } else applyVariable(tree, setting, source, text);
  }
}

/** Names of variables that Kubernetes sets in every pod beside a service whose name begins with `parley`. */
const serviceLink =
  /_SERVICE_HOST$|_SERVICE_PORT(_[A-Z0-9_]+)?$|_PORT_\d+_(TCP|UDP|SCTP)(_(PROTO|PORT|ADDR))?$/;

/** Why a variable with the prefix is clearly not meant as a setting; undefined if it may be one. */
function whyIgnored(name: string, text: string): string | undefined {
  if (serviceLink.test(name) || (name.endsWith('_PORT') && /^(tcp|udp|sctp):\/\//.test(text))) {
    return 'Kubernetes sets it for a service of this name. Set `enableServiceLinks: false` in the pod.';
  }
  if (name !== `${prefix}URL`) return undefined;
  return 'it is not a setting. Commands read the address of a server from PARLEY_BASE_URL.';
}

/** How the server works without a setting of earlier versions. An engine may have any name: only the names of kinds are known. */
function insteadOf(name: string): string | undefined {
  return dropped.find(([path]) => variableNames(path.split('.')).includes(name))?.[1];
}

function applyVariable(
  tree: SettingsTree,
  { path, type }: ScalarSetting,
  source: Source & { readonly kind: 'variable' },
  text: string,
): void {
  const setting = pathText(path);
  const refuse = (message: string) => tree.findings.push({ source, setting, message });
  const earlier = tree.nameSource(path);
  if (text === '') refuse(`The variable for \`${setting}\` is empty. Give it a value, or do not set it.`);
  else if (earlier.kind === 'variable') {
    refuse(`\`${setting}\` is set by ${earlier.name} as well. Keep one of them.`);
  } else tree.set(path, fromText(type, text), source);
}

function similarVariable(name: string, known: ReadonlyMap<string, unknown>): string | undefined {
  const bare = [...known.keys(), ...otherVariables].map((other) => other.slice(prefix.length));
  const meant = didYouMean(name.slice(prefix.length), bare);
  return meant && prefix + meant;
}

/** Applies the flags of the command line. */
export function applyOverrides(tree: SettingsTree, overrides: ConfigOverrides): void {
  const settings = scalarSettings(tree);
  const apply = (value: unknown, path: SettingPath): void => {
    if (isMap(value)) {
      for (const [name, inner] of Object.entries(value)) apply(inner, [...path, name]);
    } else if (value !== undefined) {
      const type = settings.get(pathText(path))?.type;
      const read = type && typeof value === 'string' ? fromText(type, value) : value;
      tree.set(path, read, { kind: 'flag', name: flagName(path) });
    }
  };
  apply(overrides, []);
}

/** The flag of a setting, named as its variable: `--port`, `--data-dir`. */
function flagName(path: SettingPath): string {
  return `--${variableNames(path)[0].slice(prefix.length).toLowerCase().replaceAll('_', '-')}`;
}

const plainNumber = /^(?!-0$)-?(0|[1-9]\d*)(\.\d*[1-9])?$/;

/** Reads plain numbers, `true` and `false`, and lists with commas. The schema refuses any other text in their place. */
function fromText(type: ScalarSetting['type'], text: string): string | number | boolean | string[] {
  if (type === 'texts') return text.split(',').map((one) => one.trim());
  if (type === 'number' && plainNumber.test(text)) return Number(text);
  return type === 'boolean' && ['true', 'false'].includes(text) ? text === 'true' : text;
}
