/** Rules for changes of an entry of the configuration file over the API. */
import { isMap, parseDocument } from 'yaml';
import { options } from '../config/edited-file.ts';
import { isOpenEntry } from '../config/file-entries.ts';
import { ConfigFile } from '../config/reader/config-file.ts';
import { ConfigError } from '../config/reader/finding.ts';
import type { EntryEdit } from '../core/entities/configuration.ts';
import { invalid } from '../core/values/parameters.ts';

/** Far more than an entry has. */
const valuesMax = 2_000;

/**
 * An engine must be a server, as a browser must not start programs. A key stays with the address for which it was given: who may
 * change an address must not receive the key.
 * @param present the present text of the entry
 * @throws `invalid_parameter`
 */
export function checkEdit(present: string | undefined, edit: EntryEdit): void {
  const next = edit.yaml.trim() === '' ? undefined : settingsOf(edit.yaml);
  if (next === undefined && present === undefined)
    throw invalid('name', `There is no \`${edit.name}\` to remove.`);
  if (edit.section !== 'engines') {
    if (next !== undefined && present === undefined && next['id'] !== edit.name)
      throw invalid('name', '`name` must be the `id` in the entry.');
    return;
  }
  if (edit.mustBeNew && present !== undefined)
    throw invalid('name', `There is an engine \`${edit.name}\` already. Choose another name.`);
  for (const yaml of [present, next && edit.yaml]) {
    if (yaml !== undefined && !isOpenEntry({ ...edit, yaml }))
      throw invalid(
        'yaml',
        'Only engines of the kinds `openai`, `anthropic` and `remote` without `headers` can be changed here. Change others in the file.',
      );
  }
  if (next !== undefined && edit.apiKey === undefined)
    checkKey(present === undefined ? {} : settingsOf(present), next);
}

function checkKey(before: Settings, next: Settings): void {
  const references = ['apiKeyEnv', 'apiKeyFile'] as const;
  if (references.some((name) => next[name] !== undefined && next[name] !== before[name]))
    throw invalid(
      'yaml',
      '`apiKeyEnv` and `apiKeyFile` are changed in the file alone. Type the key instead.',
    );
  if (references.some((name) => next[name] !== undefined) && next['baseUrl'] !== before['baseUrl'])
    throw invalid('api_key', 'The key belongs to the address before. Type the key for the new one.');
}

/** The same edit with the file of its key. */
export function withKeyFile(edit: EntryEdit, file: string): EntryEdit {
  const entry = parseDocument(edit.yaml, options);
  if (!isMap(entry.contents)) throw invalid('yaml', 'The entry must be a map of settings.');
  entry.delete('apiKeyEnv');
  entry.set('apiKeyFile', file);
  return { ...edit, yaml: entry.toString({ lineWidth: 0 }) };
}

type Settings = Readonly<Record<string, unknown>>;

function settingsOf(yaml: string): Settings {
  try {
    const { settings, findings } = new ConfigFile('the entry', yaml, valuesMax);
    if (findings.length > 0) throw new ConfigError(findings);
    return settings;
  } catch (error) {
    if (error instanceof ConfigError) throw invalid('yaml', error.message);
    throw error;
  }
}
