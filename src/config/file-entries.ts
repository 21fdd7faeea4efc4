/** Engines, models and conversations as entries of the text of parley.yaml. Comments and the order of settings stay. */

import { diff } from 'node:util';
import {
  type Document,
  isMap,
  isSeq,
  type Node,
  type Pair,
  parseDocument,
  stringify,
  type YAMLMap,
} from 'yaml';
import { entrySections, type FileEntry } from '../core/entities/configuration.ts';
import { checkedKinds } from '../core/entities/server.ts';
import { addDefaults, options, read, write } from './edited-file.ts';
import { defaultEngines } from './schema/engines.ts';

/** The entries of a file. Without models of its own, it has the default ones. @param recogniser as in `withEntries` */
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

export interface EntryChange extends FileEntry {
  /** Whether to add the entry even if another has its id, so that the check refuses it. Default: the other is replaced. */
  readonly mustBeNew?: boolean;
}

/**
 * The text of the file with entries added, replaced or taken out. A file that names no engines or models gets those that Parley has by
 * default, which it would lose otherwise.
 * @param changes the `yaml` of each is a map; an empty one takes the entry out
 * @param recogniser the id of the recogniser inside Parley
 */
export function withEntries(text: string, changes: readonly EntryChange[], recogniser: string): string {
  const file = withDefaults(text, recogniser);
  for (const change of changes) apply(file, change);
  return write(file, text);
}

function apply(file: Document, { section, name, yaml, mustBeNew = false }: EntryChange): void {
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

function withDefaults(text: string, recogniser: string): Document {
  const file = read(text);
  if (file.get('models') === undefined) addDefaults(file, recogniser);
  else if (file.get('engines') === undefined) file.set('engines', file.createNode(defaultEngines));
  return file;
}

function itemsOf(file: Document, section: FileEntry['section']): readonly { name: string; node: Node }[] {
  const all = file.get(section, true);
  if (isMap(all))
    return all.items.map((pair: Pair) => ({ name: String(pair.key), node: pair.value as Node }));
  if (!isSeq(all)) return [];
  return all.items.map((node) => ({
    name: isMap(node) ? String((node as YAMLMap).get('id') ?? '') : '',
    node: node as Node,
  }));
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
