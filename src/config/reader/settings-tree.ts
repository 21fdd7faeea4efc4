import type { Finding, Source } from './finding.ts';

/** The names and list positions that lead to a setting from the top of the configuration. */
export type SettingPath = readonly (string | number)[];

const plainName = /^[\w-]+$/;

/** A path as people write it: `server.port`, `models[0].id`, `models[0].voices["a b"]`. The top is empty. */
export function pathText(path: SettingPath): string {
  return path.reduce<string>((text, part) => {
    if (typeof part === 'number') return `${text}[${part}]`;
    if (!plainName.test(part)) return `${text}[${JSON.stringify(part)}]`;
    return text === '' ? part : `${text}.${part}`;
  }, '');
}

export type SettingsMap = Record<string, unknown>;

/** Maps have no prototype, so that names such as `constructor` are plain names. */
export function emptyMap(): SettingsMap {
  return Object.create(null);
}

export function isMap(value: unknown): value is SettingsMap {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

interface Origin {
  readonly name: Source;
  /** Undefined for a name without a value: it sets nothing. */
  readonly value: Source | undefined;
}

const defaultSource: Source = { kind: 'default' };

/** Settings before validation, with the source of each and the findings so far. Later sources replace earlier ones. */
export class SettingsTree {
  readonly root: SettingsMap = emptyMap();
  readonly findings: Finding[] = [];
  /** Whole sentences about variables that are ignored. */
  readonly warnings: string[] = [];
  readonly #origins = new Map<string, Origin>();

  /** Records the source of a setting. */
  mark(path: SettingPath, origin: Origin): void {
    this.#origins.set(pathText(path), origin);
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
    const last = path.at(-1);
    if (last === undefined) return;
    map[last] = value;
    this.mark(path, { name: source, value: source });
  }

  get(path: SettingPath): unknown {
    return path.reduce<unknown>((value, part) => {
      if (Array.isArray(value)) return typeof part === 'number' ? value[part] : undefined;
      return isMap(value) ? value[part] : undefined;
    }, this.root);
  }

  /** Whether anything but a default set the value. */
  isSet(path: SettingPath): boolean {
    return this.#origins.get(pathText(path))?.value !== undefined;
  }

  /** The place of the value; for a missing one, that of the nearest enclosing setting. */
  valueSource(path: SettingPath): Source {
    const origin = this.#origins.get(pathText(path));
    if (origin !== undefined) return origin.value ?? origin.name;
    return path.length === 0 ? defaultSource : this.valueSource(path.slice(0, -1));
  }

  /** The place of the setting's name. */
  nameSource(path: SettingPath): Source {
    return this.#origins.get(pathText(path))?.name ?? this.valueSource(path);
  }

  /** The source of the value of a setting such as `server.port`. */
  sourceOf(setting: string): Source {
    return this.#origins.get(setting)?.value ?? defaultSource;
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
