/** Finds parley.yaml, and reads it into a tree of settings with the place of every name and value. */
import { readFileSync } from 'node:fs';
import {
  isAlias,
  isNode,
  isScalar,
  isSeq,
  isMap as isYamlMap,
  LineCounter,
  type Pair,
  parseDocument,
} from 'yaml';
import { fileReason, systemCode } from '../../files/reason.ts';
import { isAmount } from '../schema/models.ts';
import { ConfigError, type Source, sourceText } from './finding.ts';
import {
  emptyMap,
  isMap,
  pathText,
  type SettingPath,
  type SettingsMap,
  type SettingsTree,
} from './settings-tree.ts';

const defaultFile = './parley.yaml';

/** Bounds for what aliases can make of a short file, far above any configuration. */
const valuesMax = 50_000;
const depthMax = 20;

interface ConfigFile {
  /** The path as given. */
  readonly file: string;
  readonly text: string;
}

/**
 * The file that `--config` names, else the one that PARLEY_CONFIG names, else ./parley.yaml if it exists.
 * @throws ConfigError if a named file is missing, or the file cannot be read
 */
export function findConfigFile(named: string | undefined, env: NodeJS.ProcessEnv): ConfigFile | undefined {
  if (named !== undefined) return readConfigFile(named, { kind: 'flag', name: '--config' });
  const { PARLEY_CONFIG: variable } = env;
  if (variable !== undefined) return readConfigFile(variable, { kind: 'variable', name: 'PARLEY_CONFIG' });
  return readConfigFile(defaultFile, undefined);
}

function readConfigFile(file: string, namedBy: Source | undefined): ConfigFile | undefined {
  try {
    return { file: file.replace(/^\.\//, ''), text: readFileSync(file, 'utf8') };
  } catch (cause) {
    const isMissing = systemCode(cause) === 'ENOENT';
    if (isMissing && namedBy === undefined) return undefined;
    const source = namedBy ?? { kind: 'file', file, line: 1, column: 1 };
    const problem = isMissing ? 'not found' : `cannot be read (${fileReason(cause)})`;
    throw new ConfigError([{ source, setting: '', message: `Config file \`${file}\` ${problem}.` }]);
  }
}

/**
 * Reads a file into an empty tree. A setting without a value counts as not set.
 * @throws ConfigError if the file is not YAML with a map at the top, or exceeds the bounds
 */
export function readSettings({ file, text }: ConfigFile, tree: SettingsTree): void {
  const lines = new LineCounter();
  const document = parseDocument(text, {
    lineCounter: lines,
    prettyErrors: false,
    resolveKnownTags: false,
    schema: 'core',
    stringKeys: true,
    // The reader below names both places of a repeated name.
    uniqueKeys: false,
    logLevel: 'error',
  });
  const at = (offset: number): Source => {
    const { line, col } = lines.linePos(offset);
    return { kind: 'file', file, line, column: col };
  };
  const problems = [...document.errors, ...document.warnings];
  if (problems.length > 0) {
    throw new ConfigError(
      problems.map(({ pos, message }) => ({
        source: at(pos[0]),
        setting: '',
        message: `This is not valid YAML: ${message.replace(/\.?$/, '.')}`,
      })),
    );
  }
  new NodeReader(document, at, tree).read();
}

type YamlDocument = ReturnType<typeof parseDocument>;

/** JavaScript libraries silently ignore this name in maps. */
const reservedName = '__proto__';

/** Turns the nodes of a document into plain values, and marks the place of each. */
class NodeReader {
  readonly #document: YamlDocument;
  readonly #at: (offset: number) => Source;
  readonly #tree: SettingsTree;
  #values = 0;

  constructor(document: YamlDocument, at: (offset: number) => Source, tree: SettingsTree) {
    this.#document = document;
    this.#at = at;
    this.#tree = tree;
  }

  read(): void {
    const top = this.#document.contents;
    const value = this.#value(top, []);
    if (isMap(value)) Object.assign(this.#tree.root, value);
    else if (value !== undefined) {
      this.#stop(top, 'The file must be a map of settings, such as `dataDir: ./data`.');
    }
    const place = this.#place(top);
    this.#tree.mark([], { name: place, value: place });
  }

  #value(node: unknown, path: SettingPath): unknown {
    this.#values += 1;
    if (this.#values > valuesMax) this.#stop(node, `Aliases included, this is over ${valuesMax} values.`);
    if (path.length > depthMax) this.#stop(node, `This is nested over ${depthMax} deep.`);
    if (isAlias(node)) {
      const target = node.resolve(this.#document);
      if (target === undefined) this.#stop(node, `No anchor \`&${node.source}\` stands before it.`);
      return this.#value(target, path);
    }
    if (isYamlMap(node)) return this.#map(node.items, path);
    if (isSeq(node)) return node.items.map((item, index) => this.#item(item, [...path, index]));
    if (!isScalar(node) || node.value === null) return undefined;
    // An amount keeps its digits: a float would round them.
    return typeof node.value === 'number' && isAmount(path) ? (node.source ?? node.value) : node.value;
  }

  #item(item: unknown, path: SettingPath): unknown {
    const place = this.#place(item);
    this.#tree.mark(path, { name: place, value: place });
    return this.#value(item, path);
  }

  #map(pairs: readonly Pair[], path: SettingPath): SettingsMap {
    const map = emptyMap();
    for (const { key, value } of pairs) {
      const name = isScalar(key) ? String(key.value) : String(key);
      const inner = [...path, name];
      const place = this.#place(key);
      const problem = this.#nameProblem(name, map, inner);
      if (problem !== undefined) {
        this.#tree.findings.push({ source: place, setting: pathText(inner), message: problem });
        continue;
      }
      const isEmpty = !isNode(value) || (isScalar(value) && value.value === null);
      this.#tree.mark(inner, { name: place, value: isEmpty ? undefined : this.#place(value) });
      map[name] = this.#value(value, inner);
    }
    return map;
  }

  #nameProblem(name: string, map: SettingsMap, path: SettingPath): string | undefined {
    if (name === reservedName) return `\`${name}\` cannot be a name. Choose another.`;
    if (!(name in map)) return undefined;
    const first = sourceText(this.#tree.nameSource(path));
    return `\`${pathText(path)}\` is written twice, first at ${first}. Keep one.`;
  }

  /** Ends the reading: further findings would make no sense. */
  #stop(node: unknown, message: string): never {
    throw new ConfigError([...this.#tree.findings, { source: this.#place(node), setting: '', message }]);
  }

  #place(node: unknown): Source {
    return this.#at(isNode(node) ? (node.range?.[0] ?? 0) : 0);
  }
}
