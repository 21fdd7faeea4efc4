/**
 * Integers that a double would round. In JSON that passes through they are raw JSON objects, which `JSON.stringify`
 * writes with all their digits. In messages they are doubles.
 */

/** The value of a number or a long integer; undefined for anything else. */
export function numberOf(value: unknown): number | undefined {
  if (typeof value === 'number') return value;
  return JSON.isRawJSON(value) ? Number(value.rawJSON) : undefined;
}

/** The same value with doubles for long integers. Copies only a value that contains one. */
export function withDoubles<T>(value: T): T {
  return replaced(value) as T;
}

function replaced(value: unknown): unknown {
  if (typeof value !== 'object' || value === null || ArrayBuffer.isView(value)) return value;
  if (JSON.isRawJSON(value)) return Number(value.rawJSON);
  let copy: object | undefined;
  for (const name in value) {
    const member = value[name as keyof typeof value];
    const double = replaced(member);
    if (double === member) continue;
    copy ??= Array.isArray(value) ? [...value] : { ...value };
    Object.defineProperty(copy, name, {
      value: double,
      enumerable: true,
      configurable: true,
      writable: true,
    });
  }
  return copy ?? value;
}
