/** Conditions on the ids of usage records and ledger entries. */
import { type RawBuilder, sql } from 'kysely';
import type { Dialect } from './statement.ts';

/** The column that sorts by id. SQLite stores these ids as bytes, and the column of their texts has no index. */
export function idOrder(dialect: Dialect): RawBuilder<string> {
  return sql.ref(dialect === 'sqlite' ? 'id_bytes' : 'id');
}

/** An id, or the bound of a range of ids, in the form of that column. */
export function idBound(dialect: Dialect, id: unknown): RawBuilder<string> {
  return dialect === 'sqlite' ? sql`unhex(substr(${id}, 5))` : sql`${id}`;
}

/** Whether an id is above `after`, up to `last`. */
export function isWithin(
  dialect: Dialect,
  { after, last }: { readonly after: string; readonly last: string },
) {
  const id = idOrder(dialect);
  return sql<boolean>`${id} > ${idBound(dialect, after)} and ${id} <= ${idBound(dialect, last)}`;
}
