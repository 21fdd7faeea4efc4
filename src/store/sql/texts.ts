/** Lists as JSON arrays, so that one compiled query takes any number of texts. */
import { type RawBuilder, sql } from 'kysely';
import { bounds, matches } from '../../core/values/bounds.ts';
import type { Dialect } from './statement.ts';

export function textsOf(dialect: Dialect, json: string): RawBuilder<string> {
  return dialect === 'postgres'
    ? sql<string>`(select jsonb_array_elements_text(${json}::jsonb))`
    : sql<string>`(select value from json_each(${json}))`;
}

/** The ids of `idList`, to be compared with the column of an id. */
export function idsOf(dialect: Dialect, json: string): RawBuilder<string> {
  return dialect === 'postgres'
    ? sql<string>`(select substr(text, 5)::uuid from jsonb_array_elements_text(${json}::jsonb) as text)`
    : textsOf(dialect, json);
}

/** Omits texts that cannot be ids. */
export function idList(texts: readonly string[]): string {
  return JSON.stringify(texts.filter((text) => matches(text, bounds.pageToken)));
}
