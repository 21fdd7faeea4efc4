/** Adds a local model to the text of parley.yaml, and takes it out again. Comments and the order of settings stay. */
import { type Document, parseDocument } from 'yaml';
import { defaultConversations } from './schema/config-schema.ts';
import { defaultEngines } from './schema/engines.ts';
import { defaultModels } from './schema/models.ts';

export interface AddedModel {
  /** Its id in the catalog, and in the data folder. */
  readonly id: string;
  readonly type: 'speech' | 'transcription' | 'chat';
}

/**
 * A transcription model takes the place of the active one, as there is at most one. A file that names no models gets those that
 * Parley has by default, which it would lose otherwise.
 * @param recogniser the id of the recogniser inside Parley
 */
export function withModel(text: string, model: AddedModel, recogniser: string): string {
  const file = read(text);
  if (modelsOf(file).some(runsOn(file, model.id))) return text;
  if (file.get('models') === undefined) addDefaults(file, recogniser);
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
  const file = read(text);
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

export const options = {
  schema: 'core',
  stringKeys: true,
  logLevel: 'error',
  resolveKnownTags: false,
} as const;

type Settings = Readonly<Record<string, unknown>>;

export function read(text: string): Document {
  const file = parseDocument(text, options);
  if (file.contents === null) file.contents = file.createNode({}) as never;
  return file as Document;
}

/** Braces keep the spaces that the file has in them, and lists their indentation. */
export function write(file: Document, text: string): string {
  return file.toString({
    lineWidth: 0,
    flowCollectionPadding: /\{ /.test(text),
    indentSeq: !/^- /m.test(text),
  });
}

function onOneLine(file: Document, value: object) {
  return file.createNode(value, { flow: true });
}

/** Adds the models that Parley has by default, with their engine and conversations. */
export function addDefaults(file: Document, recogniser: string): void {
  if (file.get('engines') === undefined) file.set('engines', file.createNode(defaultEngines));
  file.set('models', file.createNode([]));
  for (const model of defaultModels(recogniser)) file.addIn(['models'], onOneLine(file, model));
  if (file.get('realtime') !== undefined) return;
  file.set('realtime', file.createNode([]));
  for (const one of defaultConversations(recogniser)) file.addIn(['realtime'], onOneLine(file, one));
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
  if (file.get('engines') === undefined) file.set('engines', file.createNode(defaultEngines));
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
