/** Array literals for `unnest`. The driver's own take three times as long: it quotes every element. */
import { storable } from './ids.ts';

type Value = string | number | bigint | null | undefined;

/** Numbers, or uuids, whose texts need no quotes. */
export function plainArray(values: readonly Value[]): string {
  return `{${values.map((value) => value ?? 'null').join(',')}}`;
}

export function textArray(values: readonly Value[]): string {
  return `{${values.map((value) => (value == null ? 'null' : quoted(String(value)))).join(',')}}`;
}

/** A text as an element. */
export function quoted(text: string): string {
  return `"${storable(text).replaceAll(/["\\]/g, '\\$&')}"`;
}
