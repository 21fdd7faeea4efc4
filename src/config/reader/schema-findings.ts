/** Turns the issues of the schema into findings: in plain words, with their place and the likely correction. */
import type { z } from 'zod';
import { didYouMean } from '../../core/values/suggestion.ts';
import { configSchema } from '../schema/config-schema.ts';
import { isSecret, notShown } from '../setting-values.ts';
import { scalarSettings } from './scalar-settings.ts';
import { isMap, issuePath, pathText, type SettingPath, type SettingsMap, valueAt } from './setting-path.ts';
import type { SettingsTree } from './settings-tree.ts';

type Issue = z.core.$ZodIssue;

/** People may look for these settings here, but the interface fixes their values. */
const fixedByInterface = [
  'server.basePath',
  'limits.transcriptionBodyBytesMax',
  'limits.speechCharactersMax',
];

export function addSchemaFindings(issue: Issue, tree: SettingsTree): void {
  const path = issuePath(issue);
  if (issue.code === 'unrecognized_keys') {
    // In this case the messages of the schema list the allowed names.
    for (const name of issue.keys) unknownName([...path, name], issue.message.split(', '), tree);
  } else if (issue.code === 'invalid_key') {
    const allowed = issue.issues[0]?.message ?? issue.message;
    const name = JSON.stringify(path.at(-1));
    tree.refuseName(path, `${name} cannot be a name here: a name must be ${allowed}.`);
  } else invalidValue(path, issue, tree);
}

function unknownName(path: SettingPath, allowed: readonly string[], tree: SettingsTree): void {
  const setting = pathText(path);
  if (fixedByInterface.includes(setting)) {
    tree.refuseName(path, `\`${setting}\` is fixed by the interface and cannot be set.`);
    return;
  }
  const name = String(path.at(-1));
  tree.refuseName(path, `\`${setting}\` is not a setting. Allowed here: ${allowed.join(', ')}.`, {
    suggestion: elsewhere(name, tree) ?? didYouMean(name, allowed),
  });
}

/** A setting of that name in another place, such as `server.port` for a `port` at the top. */
function elsewhere(name: string, tree: SettingsTree): string | undefined {
  return [...scalarSettings(tree)].find(([, { path }]) => path.at(-1) === name)?.[0];
}

function invalidValue(path: SettingPath, issue: Issue, tree: SettingsTree): void {
  const value = tree.get(path);
  const name = pathText(path);
  const message =
    value === undefined
      ? missing(path, issue.message, tree)
      : `\`${name}\` is ${isSecret(name) ? notShown : shown(value)}, but must be ${issue.message}.`;
  const suggestion = typeof value === 'string' ? didYouMean(value, allowedWords(issue)) : undefined;
  tree.refuse(path, message, { suggestion });
}

function missing(path: SettingPath, allowed: string, tree: SettingsTree): string {
  if (path.length === 3 && path[0] === 'models' && path[2] === 'price') {
    const id = tree.get([...path.slice(0, 2), 'id']);
    const price = '`price: {input: 0.1, output: 0.4}`, in credits per million tokens';
    return `The chat model \`${id}\` has no price. Write ${price}, or \`price: {input: 0, output: 0}\` for a free one.`;
  }
  return `\`${pathText(path)}\` is missing. It must be ${allowed}.`;
}

function allowedWords(issue: Issue): string[] {
  if (issue.code === 'invalid_value') return issue.values.map(String);
  return issue.code === 'invalid_union' && 'options' in issue ? (issue.options ?? []).map(String) : [];
}

const shownCharactersMax = 60;

function shown(value: unknown): string {
  if (Array.isArray(value)) return 'a list';
  if (isMap(value)) return 'a map';
  if (typeof value !== 'string') return String(value);
  return JSON.stringify(value.length > shownCharactersMax ? `${value.slice(0, shownCharactersMax)}…` : value);
}

/** The valid part of an invalid configuration, which `parley doctor` checks further. */
interface ValidPart {
  readonly settings: z.infer<typeof configSchema>;
  /** The settings that are left out: they have their defaults, and an element of a list or a map is gone. */
  readonly leftOut: readonly string[];
}

/** A refused value may reveal another one, above it, such as a model without its price. */
const roundsMax = 20;

/** Removes invalid settings from `root`. Undefined if too much is refused. */
export function validPart(root: SettingsMap): ValidPart | undefined {
  const leftOut: string[] = [];
  for (let round = 0; round < roundsMax; round++) {
    const { success, data, error } = configSchema.safeParse(root);
    if (success) return { settings: data, leftOut };
    const paths = error.issues.flatMap((issue) => refusedPaths(issue, root));
    if (paths.length === 0) return undefined;
    removeAll(root, paths);
    leftOut.push(...paths.map(pathText));
  }
  return undefined;
}

function refusedPaths(issue: z.core.$ZodIssue, root: SettingsMap): SettingPath[] {
  const path = issuePath(issue);
  if (issue.code === 'unrecognized_keys') return issue.keys.map((name) => [...path, name]);
  // If the setting is missing, the setting that needs it is removed.
  const missingAt = path.findIndex((_, index) => valueAt(root, path.slice(0, index + 1)) === undefined);
  const refused = missingAt < 0 ? path : path.slice(0, missingAt);
  return refused.length === 0 ? [] : [refused];
}

/** The other elements of a list move up only afterwards, so that all paths stay valid. */
function removeAll(root: SettingsMap, paths: readonly SettingPath[]): void {
  const aboves = paths.map((path) => {
    const [above, last] = [valueAt(root, path.slice(0, -1)), path.at(-1)];
    if (typeof above === 'object' && above !== null) Reflect.deleteProperty(above, last ?? '');
    return above;
  });
  for (const list of aboves.filter(Array.isArray)) {
    list.splice(0, list.length, ...list.filter((value) => value !== undefined));
  }
}
