/**
 * Changes the text of parley.yaml: adds a local model and takes it out again, and replaces engines, models and conversations. Comments and
 * the order of settings stay. A file that names no engines or models gets those that Parley has by default, which it would lose otherwise.
 * `recogniser` is the id of the recogniser inside Parley.
 */
import { diff } from 'node:util';
import { type Document, isMap, isSeq, type Node, parseDocument, stringify } from 'yaml';
import { type EntryEdit, entrySections, type FileEntry } from '../core/entities/configuration.ts';
import { checkedKinds } from '../core/entities/server.ts';
import { defaultConversations } from './schema/config-schema.ts';
import { defaultEngines } from './schema/engines.ts';
import { defaultModels } from './schema/models.ts';

export interface AddedModel {
  /** Its id in the catalog, and in the data folder. */
  readonly id: string;
  readonly type: 'speech' | 'transcription' | 'chat';
}

/** A transcription model takes the place of the active one, as there is at most one. */
export function withModel(text: string, model: AddedModel, recogniser: string): string {
  const file = withDefaults(text, recogniser);
  if (modelsOf(file).some(runsOn(file, model.id))) return text;
  const replaced = model.type === 'transcription' ? modelsOf(file).find(isActive) : undefined;
  if (replaced !== undefined) {
    renameInConversations(file, replaced['id'], model.id);
    file.deleteIn(['models', modelsOf(file).findIndex(isActive)]);
  }
  const engine = localEngine(file);
  const price = model.type === 'chat' ? { price: { input: 0, output: 0 } } : {};
  file.addIn(['models'], onOneLine(file, { id: model.id, type: model.type, engine, ...price }));
  return write(file, text);
}

/** Without the models that run on a local model. The recogniser inside Parley takes the place of a transcription model. */
export function withoutModel(text: string, id: string, recogniser: string): string {
  const file = withDefaults(text, recogniser);
  const removed = modelsOf(file).filter(runsOn(file, id));
  if (removed.length === 0) return text;
  for (const { id: own, type } of removed) {
    file.deleteIn(['models', modelsOf(file).findIndex(runsOn(file, id))]);
    if (type !== 'transcription') continue;
    if (!modelsOf(file).some(isActive) && file.getIn(['engines', 'builtin']) !== undefined)
      file.addIn(['models'], onOneLine(file, { id: recogniser, type, engine: 'builtin' }));
    const active = modelsOf(file).find(isActive);
    if (active !== undefined) renameInConversations(file, own, String(active['id']));
  }
  return write(file, text);
}

/** Whether a model runs on a local model. */
function runsOn(file: Document, id: string): (model: Settings) => boolean {
  const engines: unknown[] = localEngines(file);
  return ({ id: own, model = own, engine }) =>
    model === id && [engine].flat().some((name) => engines.includes(name));
}

/** Whether it is the active transcription model. */
function isActive({ type, liveOnly }: Settings): boolean {
  return type === 'transcription' && liveOnly !== true;
}

type Settings = Readonly<Record<string, unknown>>;

function onOneLine(file: Document, value: object) {
  return file.createNode(value, { flow: true });
}

function renameInConversations(file: Document, from: unknown, to: string): void {
  const conversations = file.toJS().realtime;
  for (const [at, one] of Array.isArray(conversations) ? conversations.entries() : [])
    if (one?.transcription === from) file.setIn(['realtime', at, 'transcription'], to);
}

/** The name of an engine of the kind local, which is added if there is none. */
function localEngine(file: Document): string {
  const [present] = localEngines(file);
  if (present !== undefined) return present;
  const name = file.getIn(['engines', 'local']) === undefined ? 'local' : 'local-models';
  file.setIn(['engines', name], onOneLine(file, { kind: 'local' }));
  return name;
}

function localEngines(file: Document): string[] {
  const engines: object = file.toJS().engines ?? {};
  return Object.entries(engines).flatMap(([name, engine]) => (engine?.kind === 'local' ? [name] : []));
}

function modelsOf(file: Document): readonly Settings[] {
  const { models } = file.toJS();
  return Array.isArray(models) ? models.map((model) => model ?? {}) : [];
}

export const options = {
  schema: 'core',
  stringKeys: true,
  logLevel: 'error',
  resolveKnownTags: false,
} as const;

function withDefaults(text: string, recogniser: string): Document {
  const file: Document = parseDocument(text, options);
  file.contents ??= file.createNode({});
  const hasModels = file.get('models') !== undefined;
  if (file.get('engines') === undefined) file.set('engines', file.createNode(defaultEngines));
  if (hasModels) return file;
  const sections = { models: defaultModels(recogniser), realtime: defaultConversations(recogniser) };
  for (const [section, items] of Object.entries(sections)) {
    if (file.get(section) !== undefined) continue;
    file.set(section, file.createNode([]));
    for (const item of items) file.addIn([section], onOneLine(file, item));
  }
  return file;
}

/** Braces keep the spaces that the file has in them, and lists their indentation. */
function write(file: Document, text: string): string {
  return file.toString({
    lineWidth: 0,
    flowCollectionPadding: /\{ /.test(text),
    indentSeq: !/^- /m.test(text),
  });
}

export function entriesOf(text: string, recogniser: string): readonly FileEntry[] {
  const file = withDefaults(text, recogniser);
  return entrySections.flatMap((section) => {
    const items = itemsOf(file, section);
    return items.map(({ name, node }) => ({
      section,
      name,
      // Writing a thousand entries takes a second.
      get yaml() {
        return textOf(node);
      },
    }));
  });
}

/**
 * @param changes the `yaml` of each is a map; an empty one takes the entry out. One that must be new is added even if another has its id,
 * so that the check refuses it.
 */
export function withEntries(text: string, changes: readonly EntryEdit[], recogniser: string): string {
  const file = withDefaults(text, recogniser);
  for (const change of changes) apply(file, change);
  return write(file, text);
}

function apply(file: Document, { section, name, yaml, mustBeNew }: EntryEdit): void {
  const at = itemsOf(file, section).findIndex((item) => item.name === name);
  const key = section === 'engines' ? name : at;
  if (yaml.trim() === '') {
    if (at >= 0) file.deleteIn([section, key]);
    return;
  }
  const { contents: entry, commentBefore } = parseDocument(yaml, options);
  if (entry !== null) entry.commentBefore ??= commentBefore;
  if (section === 'engines' || (at >= 0 && !mustBeNew)) file.setIn([section, key], entry);
  else file.addIn([section], entry);
}

/**
 * Whether an entry may be read and changed from afar: a model, a conversation, or an engine that is another server. Programs must not
 * be started by a browser, and headers may hold secrets.
 */
export function isOpenEntry({ section, yaml }: Pick<FileEntry, 'section' | 'yaml'>): boolean {
  if (section !== 'engines') return true;
  const entry = parseDocument(yaml, options);
  return checkedKinds.some((kind) => kind === entry.get('kind')) && !entry.has('headers');
}

/** The text in the form in which changes are written, so that a comparison shows those alone. */
export function inWrittenForm(text: string, recogniser: string): string {
  return text === '' ? '' : write(withDefaults(text, recogniser), text);
}

function itemsOf(file: Document, section: FileEntry['section']): readonly { name: string; node: Node }[] {
  const all = file.get(section, true);
  if (isMap<unknown, Node>(all))
    return all.items.map(({ key, value }) => ({ name: String(key), node: value as Node }));
  if (!isSeq<Node>(all)) return [];
  return all.items.map((node) => ({ name: isMap(node) ? String(node.get('id') ?? '') : '', node }));
}

/** In lines of its own, even if the file has it in braces. */
function textOf(node: Node): string {
  const copy = node.clone() as Node;
  if (isMap(copy)) copy.flow = false;
  return stringify(copy, { lineWidth: 0 });
}

/** The lines that differ, after `- ` and `+ `. Empty lines do not count. */
export function lineDiff(before: string, after: string): string[] {
  const linesOf = (text: string) => text.split('\n').filter((line) => line !== '');
  return diff(linesOf(before), linesOf(after)).flatMap(([step, line]) =>
    step === 0 ? [] : [`${step > 0 ? '-' : '+'} ${line}`],
  );
}
