/** Changes the configuration file for operators: entry by entry, checked before, in use at once, and undone. */
import { createHash, randomBytes } from 'node:crypto';
import { readdirSync, readFileSync, rmSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { isMap, parseDocument } from 'yaml';
import { type Config, checkReload } from '../config/config.ts';
import {
  entriesOf,
  inWrittenForm,
  isOpenEntry,
  lineDiff,
  options,
  withEntries,
} from '../config/edited-file.ts';
import { ConfigFile } from '../config/reader/config-file.ts';
import { ConfigError, findingWords } from '../config/reader/finding.ts';
import type {
  ConfigurationEditor,
  EntryEdit,
  FileChange,
  FileChangeResult,
} from '../core/entities/configuration.ts';
import { ParleyError } from '../core/values/errors.ts';
import { present } from '../core/values/json.ts';
import { invalid } from '../core/values/parameters.ts';
import { makeFolder } from '../files/folders.ts';
import { fileReason, systemCode } from '../files/reason.ts';
import { replaceFile, unwritableReason } from '../files/replace-file.ts';
import type { ConfigSource } from './configuration-file.ts';

interface Deps {
  readonly source: ConfigSource;
  readonly config: () => Config;
}

/** The content before the last change, for the content after it. */
interface Previous {
  readonly version: string;
  readonly text: string;
}

export class FileEditor implements ConfigurationEditor {
  readonly #source: ConfigSource;
  readonly #config: () => Config;
  readonly #folder: string;
  #last: Promise<unknown> = Promise.resolve();

  constructor({ source, config }: Deps) {
    this.#source = source;
    this.#config = config;
    this.#folder = resolve(config().dataDir, 'configuration');
  }

  get path(): string {
    return this.#source.path;
  }

  read() {
    const text = this.#text();
    return {
      path: this.path,
      version: versionOf(text),
      entries: this.#entries(text).map((entry) =>
        isOpenEntry(entry) ? { ...entry, readOnly: false } : { ...entry, readOnly: true, yaml: '' },
      ),
      ...present({ problem: this.#problem() }),
      canUndo: this.#previous(text) !== undefined,
    };
  }

  change(change: FileChange, record: (diff: readonly string[]) => Promise<void>): Promise<FileChangeResult> {
    const result = this.#last.then(() => this.#change(change, record));
    this.#last = result.catch(() => undefined);
    return result;
  }

  async #change({ version, isTried, edits }: FileChange, record: (diff: readonly string[]) => Promise<void>) {
    const before = this.#text();
    if (version !== versionOf(before))
      throw invalid(
        'version',
        'The file has changed since you read it. Read it again, then repeat your change.',
      );
    const keys = new Map<string, string>();
    const edited = edits === 'undo' ? this.#beforeLast(before) : this.#edited(before, edits, keys);
    const diff = lineDiff(
      this.#inWrittenForm(before),
      edits === 'undo' ? this.#inWrittenForm(edited) : edited,
    );
    const after = diff.length === 0 ? before : edited;
    const result = { version: versionOf(after), diff };
    try {
      for (const [file, key] of keys) this.#write(file, key);
      const findings = this.#findings(after);
      if (isTried || findings.length > 0 || after === before) return { ...result, findings };
      const problem = this.#problem();
      if (problem !== undefined) throw new ParleyError('invalid_parameter', { message: problem });
      await this.#replace(before, after, () => record(result.diff));
      keys.clear();
      this.#removeKeys(before, after);
      return { ...result, findings };
    } finally {
      for (const file of keys.keys()) rmSync(file, { force: true });
    }
  }

  /** @param keys collects the files of typed keys */
  #edited(before: string, edits: readonly EntryEdit[], keys: Map<string, string>): string {
    const entries = this.#entries(before);
    const changes = edits.map((edit) => {
      const present = entries.find(({ section, name }) => section === edit.section && name === edit.name);
      checkEdit(present?.yaml, edit);
      if (edit.apiKey === undefined) return edit;
      const name = `${edit.name.replace(/[^a-z0-9-]/g, '')}-${randomBytes(4).toString('hex')}.key`;
      const file = join(this.#folder, name);
      keys.set(file, edit.apiKey);
      return withKeyFile(edit, file);
    });
    return withEntries(before, changes, this.#source.recogniser());
  }

  /** A comparison in this form shows nothing of entries that stay, whose blanks may move. */
  #inWrittenForm(text: string): string {
    return inWrittenForm(text, this.#source.recogniser());
  }

  #findings(after: string): FileChangeResult['findings'] {
    try {
      checkReload(this.#config(), this.#source.read(after));
      return [];
    } catch (error) {
      if (error instanceof ConfigError)
        return error.findings.map((finding) => ({
          setting: finding.setting,
          message: findingWords(finding),
        }));
      return [{ message: error instanceof Error ? error.message : String(error) }];
    }
  }

  /** If the server cannot use the new content, or the audit entry cannot be written, the old content returns. */
  async #replace(before: string, after: string, record: () => Promise<void>): Promise<void> {
    const previous: Previous = { version: versionOf(after), text: before };
    try {
      this.#write(this.#previousFile, JSON.stringify(previous));
      replaceFile(this.#source.path, after);
    } catch (error) {
      // Such as a single file that is mounted into a container.
      throw new ParleyError('invalid_parameter', { message: this.#unwritable(fileReason(error)) });
    }
    try {
      const problem = await this.#source.apply();
      if (problem !== undefined) throw new ParleyError('invalid_parameter', { message: problem });
      await record();
    } catch (error) {
      replaceFile(this.#source.path, before);
      await this.#source.apply();
      throw error;
    }
  }

  #problem(): string | undefined {
    const reason = unwritableReason(this.#source.path);
    return reason && this.#unwritable(reason);
  }

  #unwritable(reason: string): string {
    return `${this.#source.path} cannot be written here (${reason}). Write the lines into it yourself, then run \`parley config apply\`.`;
  }

  #text(): string {
    try {
      return readFileSync(this.#source.path, 'utf8');
    } catch (error) {
      if (systemCode(error) === 'ENOENT') return '';
      throw new ParleyError('invalid_parameter', {
        message: `${this.#source.path} cannot be read (${fileReason(error)}).`,
      });
    }
  }

  #entries(text: string) {
    return entriesOf(text, this.#source.recogniser());
  }

  get #previousFile(): string {
    return join(this.#folder, 'previous.json');
  }

  #previous(text: string): string | undefined {
    try {
      const previous = JSON.parse(readFileSync(this.#previousFile, 'utf8')) as Previous;
      return previous.version === versionOf(text) ? previous.text : undefined;
    } catch {
      return undefined;
    }
  }

  #beforeLast(text: string): string {
    const previous = this.#previous(text);
    if (previous !== undefined) return previous;
    throw new ParleyError('invalid_parameter', {
      message: 'The last change was not made here. Nothing can be undone.',
    });
  }

  #write(file: string, text: string): void {
    makeFolder(this.#folder, 0o700);
    replaceFile(file, text);
  }

  /** Removes keys that neither content names. */
  #removeKeys(before: string, after: string): void {
    for (const name of readdirSync(this.#folder)) {
      if (name.endsWith('.key') && !`${before}${after}`.includes(name))
        rmSync(join(this.#folder, name), { force: true });
    }
  }
}

function versionOf(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}

/** Far more than an entry has. */
const valuesMax = 2_000;

/**
 * An engine must be a server, as a browser must not start programs. A key stays with the address for which it was given: who may
 * change an address must not receive the key.
 * @param present the present text of the entry
 * @throws `invalid_parameter`
 */
function checkEdit(present: string | undefined, edit: EntryEdit): void {
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

function withKeyFile(edit: EntryEdit, file: string): EntryEdit {
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
