/** Where a setting lies: the names and list positions that lead to it from the top of the configuration. */
export type SettingPath = readonly (string | number)[];

const plainName = /^[\w-]+$/;

/** Writes a path the way people do: `server.port`, `models[0].id`, `models[0].voices["a b"]`. The top is ``. */
export function pathText(path: SettingPath): string {
  return path.reduce<string>((text, part) => {
    if (typeof part === 'number') return `${text}[${part}]`;
    if (!plainName.test(part)) return `${text}[${JSON.stringify(part)}]`;
    return text === '' ? part : `${text}.${part}`;
  }, '');
}

/** The lower-case words of a name in any spelling: `bodyBytesMax`, `body-bytes-max`, `BODY_BYTES_MAX`. */
export function nameWords(name: string): string[] {
  return name
    .replace(/([a-z0-9])([A-Z])/g, '$1 $2')
    .split(/[^A-Za-z0-9]+/)
    .filter((word) => word !== '')
    .map((word) => word.toLowerCase());
}
