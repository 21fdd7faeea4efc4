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

export function issuePath(issue: { readonly path: readonly PropertyKey[] }): SettingPath {
  return issue.path.map((part) => (typeof part === 'number' ? part : String(part)));
}

export type SettingsMap = Record<string, unknown>;

/** Maps have no prototype, so that names such as `constructor` are plain names. */
export function emptyMap(): SettingsMap {
  return Object.create(null);
}

export function isMap(value: unknown): value is SettingsMap {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Undefined if nothing stands there. */
export function valueAt(root: SettingsMap, path: SettingPath): unknown {
  return path.reduce<unknown>((value, part) => {
    if (Array.isArray(value)) return typeof part === 'number' ? value[part] : undefined;
    return isMap(value) ? value[part] : undefined;
  }, root);
}
