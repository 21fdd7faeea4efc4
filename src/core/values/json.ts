import type { JsonObject } from '@bufbuild/protobuf';

/** V8 writes lone surrogates, and only those, as such escapes; two backslashes before one are a text. */
const loneSurrogates = /(?<=[^\\](?:\\\\)*)\\ud[89a-f]../g;

/** `JSON.stringify` for other servers, of which many cannot read lone surrogates: U+FFFD is in their place. */
export function wellFormedJson(value: unknown): string {
  const json = JSON.stringify(value);
  return json.includes('\\ud') ? json.replace(loneSurrogates, '\ufffd') : json;
}

export function isObject(json: unknown): json is JsonObject {
  return typeof json === 'object' && json !== null && !Array.isArray(json) && !JSON.isRawJSON(json);
}

/** The object that a text is in JSON; undefined for any other text. */
export function parsedObject(text: string): JsonObject | undefined {
  try {
    const json: unknown = JSON.parse(text);
    return isObject(json) ? json : undefined;
  } catch {
    return undefined;
  }
}

/** Removes members that are undefined, as the initialiser of a message does not accept them. */
export function present<T extends object>(members: T): { [K in keyof T]?: Exclude<T[K], undefined> } {
  const entries = Object.entries(members).filter(([, value]) => value !== undefined);
  return Object.fromEntries(entries) as Partial<{ [K in keyof T]: Exclude<T[K], undefined> }>;
}
