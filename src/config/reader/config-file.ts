/** Finds parley.yaml, and reads it into plain values. */
import { readFileSync } from 'node:fs';
import {
  type Alias,
  isAlias,
  isNode,
  isScalar,
  isSeq,
  isMap as isYamlMap,
  LineCounter,
  type Node,
  type Pair,
  parseDocument,
  visit,
} from 'yaml';
import { fileReason, systemCode } from '../../files/reason.ts';
import { isAmount } from '../schema/models.ts';
import { ConfigError, type Finding, type Source, sourceText } from './finding.ts';
import { emptyMap, isMap, pathText, type SettingPath, type SettingsMap } from './setting-path.ts';

/** Read where nothing names another. */
export const defaultFile = './parley.yaml';

/** Limits the size that aliases can give a short file, far above any configuration. */
const fileValuesMax = 50_000;
const depthMax = 20;

/** JavaScript libraries silently ignore this name in maps. */
const reservedName = '__proto__';

/**
 * The file that `--config` names, else the one that PARLEY_CONFIG names, else ./parley.yaml if it exists.
 * @param text its content, in place of that on the disk
 * @throws ConfigError if a named file is missing, or the file cannot be read
 */
export function findConfigFile(
  named: string | undefined,
  env: NodeJS.ProcessEnv,
  text?: string,
): ConfigFile | undefined {
  if (text !== undefined) return new ConfigFile(named ?? env['PARLEY_CONFIG'] ?? defaultFile, text);
  if (named !== undefined) return readConfigFile(named, { kind: 'flag', name: '--config' });
  const { PARLEY_CONFIG: variable } = env;
  if (variable !== undefined) return readConfigFile(variable, { kind: 'variable', name: 'PARLEY_CONFIG' });
  return readConfigFile(defaultFile, undefined);
}

function readConfigFile(file: string, namedBy: Source | undefined): ConfigFile | undefined {
  let text: string;
  try {
    text = readFileSync(file, 'utf8');
  } catch (cause) {
    const isMissing = systemCode(cause) === 'ENOENT';
    if (isMissing && namedBy === undefined) return undefined;
    const source = namedBy ?? { kind: 'file', file, line: 1, column: 1 };
    const problem = isMissing ? 'not found' : `cannot be read (${fileReason(cause)})`;
    throw new ConfigError([{ source, setting: '', message: `Config file \`${file}\` ${problem}.` }]);
  }
  return new ConfigFile(file.replace(/^\.\//, ''), text);
}

/** A setting without a value counts as not set. */
export class ConfigFile {
  /** The path as given. */
  readonly file: string;
  readonly settings: SettingsMap = emptyMap();
  readonly findings: Finding[] = [];
  readonly #lines = new LineCounter();
  readonly #document: ReturnType<typeof parseDocument>;
  readonly #targets: ReadonlyMap<Alias, Node>;
  readonly #valuesMax: number;
  #values = 0;

  /**
   * @param valuesMax of names' and lists' values, those of aliases included
   * @throws ConfigError if the text is not YAML with a map at the top, or exceeds the bounds
   */
  constructor(file: string, text: string, valuesMax = fileValuesMax) {
    this.file = file;
    this.#valuesMax = valuesMax;
    this.#document = parseDocument(text, {
      lineCounter: this.#lines,
      prettyErrors: false,
      resolveKnownTags: false,
      schema: 'core',
      stringKeys: true,
      // Findings about repeated names state both places.
      uniqueKeys: false,
      logLevel: 'error',
    });
    this.#targets = targetsOf(this.#document);
    const { contents, errors, warnings } = this.#document;
    const invalid = [...errors, ...warnings].map(({ pos, message }) => ({
      source: this.#at(pos[0]),
      setting: '',
      message: `This is not valid YAML: ${message.replace(/\.?$/, '.')}`,
    }));
    if (invalid.length > 0) throw new ConfigError(invalid);
    const value = this.#read(contents, []);
    if (isMap(value)) this.settings = value;
    else if (value !== undefined) {
      this.#stop(contents, 'The file must be a map of settings, such as `dataDir: ./data`.');
    }
  }

  /** The places of a setting in the file. A name without a value sets nothing. */
  places(path: SettingPath): { readonly name: Source; readonly value: Source | undefined } | undefined {
    const { contents } = this.#document;
    let pair: { key: unknown; value: unknown } | undefined = { key: contents, value: contents };
    for (const part of path) {
      pair = this.#inner(pair.value, part);
      if (pair === undefined) return undefined;
    }
    const isEmpty = !pair.value || (isScalar(pair.value) && pair.value.value === null);
    return { name: this.#place(pair.key), value: isEmpty ? undefined : this.#place(pair.value) };
  }

  #inner(node: unknown, part: string | number) {
    const above = isAlias(node) ? this.#targets.get(node) : node;
    if (isYamlMap(above)) return above.items.find(({ key }) => isScalar(key) && key.value === part);
    const item: unknown = isSeq(above) && typeof part === 'number' ? above.items[part] : undefined;
    return item === undefined ? undefined : { key: item, value: item };
  }

  #read(node: unknown, path: SettingPath): unknown {
    this.#values += 1;
    if (this.#values > this.#valuesMax) {
      this.#stop(node, `Aliases included, this is over ${this.#valuesMax} values.`);
    }
    if (path.length > depthMax) this.#stop(node, `This is nested over ${depthMax} deep.`);
    if (isAlias(node)) {
      const target = this.#targets.get(node);
      if (target === undefined) this.#stop(node, `No anchor \`&${node.source}\` stands before it.`);
      return this.#read(target, path);
    }
    if (isYamlMap(node)) return this.#readMap(node.items, path);
    if (isSeq(node)) return node.items.map((item, index) => this.#read(item, [...path, index]));
    if (!isScalar(node) || node.value === null) return undefined;
    // An amount keeps its digits: a float would round them.
    return typeof node.value === 'number' && isAmount(path) ? (node.source ?? node.value) : node.value;
  }

  #readMap(pairs: readonly Pair[], path: SettingPath): SettingsMap {
    const map = emptyMap();
    for (const { key, value } of pairs) {
      const name = isScalar(key) ? String(key.value) : String(key);
      const inner = [...path, name];
      const message = this.#nameProblem(name, map, inner);
      if (message === undefined) map[name] = this.#read(value, inner);
      else this.findings.push({ source: this.#place(key), setting: pathText(inner), message });
    }
    return map;
  }

  #nameProblem(name: string, map: SettingsMap, path: SettingPath): string | undefined {
    if (name === reservedName) return `\`${name}\` cannot be a name. Choose another.`;
    const first = name in map ? this.places(path) : undefined;
    return first && `\`${pathText(path)}\` is written twice, first at ${sourceText(first.name)}. Keep one.`;
  }

  /** Stops reading, as further findings would make no sense. */
  #stop(node: unknown, message: string): never {
    throw new ConfigError([...this.findings, { source: this.#place(node), setting: '', message }]);
  }

  #place(node: unknown): Source {
    return this.#at(isNode(node) ? (node.range?.[0] ?? 0) : 0);
  }

  #at(offset: number): Source {
    const { line, col } = this.#lines.linePos(offset);
    return { kind: 'file', file: this.file, line, column: col };
  }
}

/** The node that each alias stands for. Finding it with each alias would read the document again and again. */
function targetsOf(document: ReturnType<typeof parseDocument>): ReadonlyMap<Alias, Node> {
  const anchors = new Map<string, Node>();
  const targets = new Map<Alias, Node>();
  visit(document, {
    Alias: (_, alias) => {
      const target = anchors.get(alias.source);
      if (target !== undefined) targets.set(alias, target);
    },
    Value: (_, node) => {
      if (node.anchor !== undefined) anchors.set(node.anchor, node);
    },
  });
  return targets;
}
