import type { ConfigFile } from './config-file.ts';
import type { Finding, Source } from './finding.ts';
import { emptyMap, isMap, pathText, type SettingPath, type SettingsMap, valueAt } from './setting-path.ts';

const defaultSource: Source = { kind: 'default' };

/** Settings before validation, with the source of each and the findings so far. Later sources replace earlier ones. */
export class SettingsTree {
  readonly root: SettingsMap;
  readonly findings: Finding[];
  /** Whole sentences about settings that have no effect. */
  readonly warnings: string[] = [];
  readonly #file: ConfigFile | undefined;
  /** The variables and flags that set values, by the setting. */
  readonly #outside = new Map<string, Source>();

  constructor(file: ConfigFile | undefined) {
    this.#file = file;
    this.root = file?.settings ?? emptyMap();
    this.findings = [...(file?.findings ?? [])];
  }

  /** Sets a value, and the maps above it. Does nothing if something else stands in place of a map: validation reports that. */
  set(path: SettingPath, value: unknown, source: Source): void {
    let map = this.root;
    for (const part of path.slice(0, -1)) {
      map[part] ??= emptyMap();
      const next = map[part];
      if (!isMap(next)) return;
      map = next;
    }
    map[String(path.at(-1))] = value;
    this.#outside.set(pathText(path), source);
  }

  get(path: SettingPath): unknown {
    return valueAt(this.root, path);
  }

  /** The source of the value: `default` if nothing else set it. */
  sourceOf(path: SettingPath): Source {
    return this.#outsideSource(path) ?? this.#file?.places(path)?.value ?? defaultSource;
  }

  /** The place of the value; for a missing one, that of the nearest enclosing setting. */
  valueSource(path: SettingPath): Source {
    const places = this.#file?.places(path);
    const source = this.#outsideSource(path) ?? places?.value ?? places?.name;
    if (source !== undefined) return source;
    return path.length === 0 ? defaultSource : this.valueSource(path.slice(0, -1));
  }

  /** The place of the setting's name. */
  nameSource(path: SettingPath): Source {
    return this.#outsideSource(path) ?? this.#file?.places(path)?.name ?? this.valueSource(path);
  }

  #outsideSource(path: SettingPath): Source | undefined {
    if (path.length === 0) return undefined;
    return this.#outside.get(pathText(path)) ?? this.#outsideSource(path.slice(0, -1));
  }

  /** Adds a finding about the value of a setting. */
  refuse(path: SettingPath, message: string, more: Pick<Finding, 'suggestion' | 'advice'> = {}): void {
    this.findings.push({ source: this.valueSource(path), setting: pathText(path), message, ...more });
  }

  /** Adds a finding about the name of a setting. */
  refuseName(path: SettingPath, message: string, more: Pick<Finding, 'suggestion'> = {}): void {
    this.findings.push({ source: this.nameSource(path), setting: pathText(path), message, ...more });
  }
}
