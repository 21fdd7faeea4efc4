import { pathText, type SettingPath } from './setting-path.ts';
import { defaultSource, type Source } from './source.ts';

export type SettingsMap = Record<string, unknown>;

/** Where a setting's name and its value stand. For variables and flags both are the same. */
interface Origin {
  readonly name: Source;
  /** Undefined for a name that stands there without a value, which sets nothing. */
  readonly value: Source | undefined;
}

/** Maps have no prototype, so that no name that a file can hold means anything to JavaScript. */
export function emptyMap(): SettingsMap {
  return Object.create(null);
}

export function isMap(value: unknown): value is SettingsMap {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** What was set, before it is validated, with the place where each value was set. Later sources replace earlier ones. */
export class SettingsTree {
  readonly root: SettingsMap;
  readonly #origins = new Map<string, Origin>();

  constructor(root: SettingsMap = emptyMap()) {
    this.root = root;
  }

  /** Notes where the setting at `path` stands. */
  mark(path: SettingPath, origin: Origin): void {
    this.#origins.set(pathText(path), origin);
  }

  /** Sets a value below maps only. Where the file has something else in a map's place, its finding is enough. */
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

  /** Gives a setting at the top its default, where nothing has set it. It is not noted as set. */
  fill(name: string, value: unknown): void {
    this.root[name] ??= value;
  }

  /** Whether anything set the value at `path`, rather than a default. */
  isSet(path: SettingPath): boolean {
    return this.#origins.get(pathText(path))?.value !== undefined;
  }

  get(path: SettingPath): unknown {
    return path.reduce<unknown>((value, part) => {
      if (Array.isArray(value)) return typeof part === 'number' ? value[part] : undefined;
      return isMap(value) ? value[part] : undefined;
    }, this.root);
  }

  /** Where the value at `path` stands; for what is missing, where the nearest thing around it does. */
  valueSource(path: SettingPath): Source {
    const origin = this.#origins.get(pathText(path));
    if (origin !== undefined) return origin.value ?? origin.name;
    return path.length === 0 ? defaultSource : this.valueSource(path.slice(0, -1));
  }

  /** Where the name of the setting at `path` stands. */
  nameSource(path: SettingPath): Source {
    return this.#origins.get(pathText(path))?.name ?? this.valueSource(path);
  }

  /** Where the setting of this path got its value. */
  sourceOf(setting: string): Source {
    return this.#origins.get(setting)?.value ?? defaultSource;
  }
}
