/** Puts what the schema refuses into words, with the place in the file and what was probably meant. */
import type { z } from 'zod';
import type { Finding } from './finding.ts';
import { namesAt, scalarSettings } from './schema-walk.ts';
import { pathText, type SettingPath } from './setting-path.ts';
import { isMap, type SettingsTree } from './settings-tree.ts';
import { didYouMean } from './suggestion.ts';

type Issue = z.core.$ZodIssue;

/** What people may look for here, but the contract of the interface decides. */
const fixedByContract = ['server.basePath', 'limits.transcriptionBodyBytesMax', 'limits.speechCharactersMax'];

/** The findings of one issue: one for each name, where names are unknown. */
export function explain(issue: Issue, tree: SettingsTree): Finding[] {
  const path = issue.path.map((part) => (typeof part === 'number' ? part : String(part)));
  if (issue.code === 'unrecognized_keys') return issue.keys.map((name) => unknownName([...path, name], tree));
  if (issue.code === 'invalid_key')
    return [invalidName(path, issue.issues[0]?.message ?? issue.message, tree)];
  return [invalidValue(path, issue, tree)];
}

function unknownName(path: SettingPath, tree: SettingsTree): Finding {
  const setting = pathText(path);
  const source = tree.nameSource(path);
  if (fixedByContract.includes(setting)) {
    return { source, setting, message: `\`${setting}\` is fixed by the interface and cannot be set.` };
  }
  const name = String(path.at(-1));
  const allowed = namesAt(path.slice(0, -1), tree);
  return {
    source,
    setting,
    message: `\`${setting}\` is not a setting. Allowed here: ${allowed.join(', ')}.`,
    suggestion: elsewhere(name, tree) ?? didYouMean(name, allowed),
  };
}

/** A setting of that name in another place, such as `server.port` for a `port` at the top. */
function elsewhere(name: string, tree: SettingsTree): string | undefined {
  return [...scalarSettings(tree)].find(([, { path }]) => path.at(-1) === name)?.[0];
}

function invalidName(path: SettingPath, allowed: string, tree: SettingsTree): Finding {
  const setting = pathText(path);
  const message = `${JSON.stringify(path.at(-1))} is not a name that can stand here: it must be ${allowed}.`;
  return { source: tree.nameSource(path), setting, message };
}

function invalidValue(path: SettingPath, issue: Issue, tree: SettingsTree): Finding {
  const setting = pathText(path);
  const source = tree.valueSource(path);
  const value = tree.get(path);
  if (value === undefined) return { source, setting, message: missing(path, issue.message, tree) };
  return {
    source,
    setting,
    message: `\`${setting}\` is ${shown(value)}, but must be ${issue.message}.`,
    suggestion: typeof value === 'string' ? didYouMean(value, wordsAllowed(issue)) : undefined,
  };
}

function missing(path: SettingPath, allowed: string, tree: SettingsTree): string {
  if (path.length === 3 && path[0] === 'models' && path[2] === 'price') {
    const id = tree.get([...path.slice(0, 2), 'id']);
    const price = '`price: {input: 0.1, output: 0.4}`, in credits per million tokens';
    return `The chat model \`${id}\` has no price. Write ${price}, or \`price: {input: 0, output: 0}\` for a free one.`;
  }
  return `\`${pathText(path)}\` is missing. It must be ${allowed}.`;
}

function wordsAllowed(issue: Issue): string[] {
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
