import {
  type Alias,
  isAlias,
  isNode,
  isScalar,
  isSeq,
  isMap as isYamlMap,
  LineCounter,
  type Pair,
  parseDocument,
} from 'yaml';
import { isAmount } from '../schema/models.ts';
import type { Finding } from './finding.ts';
import { pathText, type SettingPath } from './setting-path.ts';
import { emptyMap, isMap, type SettingsMap, SettingsTree } from './settings-tree.ts';
import { type Source, sourceText } from './source.ts';

/** Bounds for what aliases can make of a short file, far beyond any configuration. */
const valuesMax = 50_000;
const depthMax = 20;

export interface YamlSettings {
  readonly tree: SettingsTree;
  readonly findings: readonly Finding[];
  /** Whether `tree` is all that the file says. Where not, it makes no sense to look for more findings. */
  readonly complete: boolean;
}

/** Reads the text of `file`, keeping the place of every name and value. A setting without a value counts as not set. */
export function readYaml(file: string, text: string): YamlSettings {
  const lines = new LineCounter();
  const document = parseDocument(text, {
    lineCounter: lines,
    prettyErrors: false,
    resolveKnownTags: false,
    schema: 'core',
    stringKeys: true,
    // The reader below tells both lines of a name that is written twice.
    uniqueKeys: false,
    logLevel: 'error',
  });
  const at = (offset: number): Source => {
    const { line, col } = lines.linePos(offset);
    return { kind: 'file', file, line, column: col };
  };
  const problems = [...document.errors, ...document.warnings];
  if (problems.length > 0) {
    const findings = problems.map((problem) => ({
      source: at(problem.pos[0]),
      setting: '',
      message: `This is not valid YAML: ${problem.message.replace(/\.?$/, '.')}`,
    }));
    return { tree: new SettingsTree(), findings, complete: false };
  }
  return new TreeReader(document, at).read();
}

type YamlDocument = ReturnType<typeof parseDocument>;

/** The one name that maps of JavaScript libraries pass over in silence. */
const reservedName = '__proto__';

function reserved(path: SettingPath, source: Source): Finding {
  return {
    source,
    setting: pathText(path),
    message: `\`${reservedName}\` cannot be a name. Choose another.`,
  };
}

/** Turns the nodes of a document into a tree of plain values, and notes where each of them stands. */
class TreeReader {
  readonly #document: YamlDocument;
  readonly #at: (offset: number) => Source;
  readonly #findings: Finding[] = [];
  readonly #tree = new SettingsTree();
  #values = 0;
  /** Set by a finding after which the rest of the file is not looked at. */
  #complete = true;

  constructor(document: YamlDocument, at: (offset: number) => Source) {
    this.#document = document;
    this.#at = at;
  }

  read(): YamlSettings {
    const top = this.#document.contents;
    const place = this.#place(top);
    this.#tree.mark([], { name: place, value: place });
    const value = this.#value(top, []);
    if (isMap(value)) Object.assign(this.#tree.root, value);
    else if (value !== undefined && this.#complete) {
      this.#stop(top, 'The file must be a map of settings, such as `dataDir: ./data`.');
    }
    return { tree: this.#tree, findings: this.#findings, complete: this.#complete };
  }

  #value(node: unknown, path: SettingPath): unknown {
    this.#values += 1;
    if (!this.#complete) return undefined;
    if (this.#values > valuesMax)
      return this.#stop(node, `Aliases included, this is over ${valuesMax} values.`);
    if (path.length > depthMax) return this.#stop(node, `This is nested over ${depthMax} deep.`);
    if (isAlias(node)) return this.#alias(node, path);
    if (isYamlMap(node)) return this.#map(node.items, path);
    if (isSeq(node)) return node.items.map((item, index) => this.#item(item, [...path, index]));
    if (!isScalar(node) || node.value === null) return undefined;
    // An amount keeps the digits as they were written: a float would round them.
    return typeof node.value === 'number' && isAmount(path) ? (node.source ?? node.value) : node.value;
  }

  #alias(alias: Alias, path: SettingPath): unknown {
    const target = alias.resolve(this.#document);
    if (target === undefined) return this.#stop(alias, `No anchor \`&${alias.source}\` stands before it.`);
    return this.#value(target, path);
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
      const nameAt = this.#place(key);
      if (name === reservedName || name in map) {
        this.#findings.push(name === reservedName ? reserved(inner, nameAt) : this.#twice(inner, nameAt));
        continue;
      }
      const isEmpty = !isNode(value) || (isScalar(value) && value.value === null);
      this.#tree.mark(inner, { name: nameAt, value: isEmpty ? undefined : this.#place(value) });
      map[name] = this.#value(value, inner);
    }
    return map;
  }

  #twice(path: SettingPath, source: Source): Finding {
    const setting = pathText(path);
    const first = sourceText(this.#tree.nameSource(path));
    return { source, setting, message: `\`${setting}\` is written twice, first at ${first}. Keep one.` };
  }

  #stop(node: unknown, message: string): undefined {
    this.#complete = false;
    this.#findings.push({ source: this.#place(node), setting: '', message });
  }

  #place(node: unknown): Source {
    return this.#at(isNode(node) ? (node.range?.[0] ?? 0) : 0);
  }
}
