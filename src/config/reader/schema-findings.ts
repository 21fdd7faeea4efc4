/** Turns the issues of the schema into findings: in plain words, with their place and the likely correction. */
import type { z } from 'zod';
import { didYouMean } from '../../core/values/suggestion.ts';
import { isSecret, notShown } from '../setting-values.ts';
import { scalarSettings } from './scalar-settings.ts';
import { isMap, issuePath, pathText, type SettingPath } from './setting-path.ts';
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
