/** parley.schema.json: the settings have their types from `src/config/schema`, and their words from the comments of parley.example.yaml. */
import { readFileSync } from 'node:fs';
import { settingsJsonSchema } from '../src/config/schema/config-schema.ts';

/** The parts of a JSON schema that settings have. */
interface Schema {
  description?: string;
  readonly const?: unknown;
  readonly oneOf?: readonly Schema[];
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly items?: Schema;
  readonly additionalProperties?: boolean | Schema;
}

/** A group, list or map of settings that is open at a line, and its names from the top. */
interface Open {
  readonly schema: Schema;
  readonly name: string;
}

/** The text of parley.schema.json, with which editors complete and check parley.yaml. */
export function configJsonSchema(): string {
  const title = { title: 'The configuration of Parley (parley.yaml)' };
  const schema: Schema = JSON.parse(JSON.stringify({ ...title, ...settingsJsonSchema }));
  const example = readFileSync(new URL('../parley.example.yaml', import.meta.url), 'utf8');
  new Example(schema).read(example.split('\n'));
  return `${JSON.stringify(schema, null, 2)}\n`;
}

/**
 * Gives schemas the comments above their settings. An empty comment line ends a paragraph: the last one is about the setting, the first one
 * about the engine or the item of a list that begins there. A setting without a comment has that of the nearest engine or item above.
 */
class Example {
  readonly #open: Open[];
  /** The words about settings by their names, the latest ones. */
  readonly #words = new Map<string, string>();
  readonly #described = new Set<Schema>();

  constructor(root: Schema) {
    this.#open = [{ schema: root, name: '' }];
  }

  read(lines: readonly string[]): void {
    let paragraphs = [''];
    for (const [at, line] of lines.entries()) {
      const [, marks = '', text = ''] = /^([\s#-]*)(.*)$/.exec(line) ?? [];
      const name = /^([\w-]+):(?: |$)/.exec(text)?.[1] ?? '';
      const isTaken = this.#take(name, marks.includes('-'), lines.slice(at), paragraphs);
      if (isTaken || !line.includes('#')) paragraphs = [''];
      else if (text === '') paragraphs.push('');
      else paragraphs.push(`${paragraphs.pop()} ${text}`.trim());
    }
  }

  /** Opens what a line names, and describes it. @returns whether that is a setting, an item or an engine */
  #take(name: string, isItem: boolean, rest: readonly string[], paragraphs: readonly string[]): boolean {
    for (let depth = this.#open.length; depth > 0; depth--) {
      const { schema, name: outer } = this.#open[depth - 1] as Open;
      const entry = entryOf(schema, isItem, rest);
      const setting = (isItem ? entry : schema)?.properties?.[name];
      if (entry === undefined && setting === undefined) continue;
      this.#open.length = depth;
      if (entry) this.#enter(entry, `${outer}.*`, isItem && paragraphs.length === 1 ? '' : paragraphs[0]);
      if (setting) this.#enter(setting, `${entry ? `${outer}.*` : outer}.${name}`, paragraphs.at(-1));
      return true;
    }
    return false;
  }

  #enter(schema: Schema, name: string, words = ''): void {
    this.#open.push({ schema, name });
    inherit(schema, name, this.#words);
    if (words === '' || this.#described.has(schema)) return;
    this.#described.add(schema);
    this.#words.set(name, words);
    schema.description = words;
  }
}

/** The item of a list, or the engine, that begins with the first of these lines. Operators choose the names of engines. */
function entryOf({ items, additionalProperties }: Schema, isItem: boolean, lines: readonly string[]) {
  const entry = isItem ? items : /^[\s#]*[a-z-]+:$/.test(lines[0] ?? '') ? additionalProperties : undefined;
  if (typeof entry !== 'object' || !entry.oneOf) return isItem ? items : undefined;
  const [, chosen] = /^[\s#]*(?:kind|type): (\w+)$/m.exec(lines.join('\n')) ?? [];
  return entry.oneOf.find(
    ({ properties = {} }) => (properties['kind'] ?? properties['type'])?.const === chosen,
  );
}

function inherit({ properties = {} }: Schema, name: string, words: ReadonlyMap<string, string>): void {
  for (const [inner, schema] of Object.entries(properties)) {
    const own = words.get(`${name}.${inner}`);
    if (own !== undefined) schema.description ??= own;
    inherit(schema, `${name}.${inner}`, words);
  }
}
