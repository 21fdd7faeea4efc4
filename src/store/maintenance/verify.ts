/** Verifies a backup: the file is intact, and its books are exact. */
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Connection } from '../sqlite/database/connection.ts';
import { bookFaults } from './books.ts';

/** Whole sentences; empty if the database is intact. */
export async function databaseFaults(connection: Connection): Promise<string[]> {
  const damage = connection.prepare<[], string>('pragma integrity_check(5)').pluck().all();
  if (damage[0] !== 'ok') return damage.map((fault) => `The file is damaged: ${fault}.`);
  const faults: string[] = [];
  if (connection.prepare('pragma foreign_key_check').get() !== undefined) {
    faults.push('A row refers to a missing one.');
  }
  const find = async (sql: string) => {
    await nextTurn();
    return connection.prepare<[], { id: string }>(sql).get()?.id;
  };
  const hasRollups = connection.prepare("select 1 from sqlite_schema where name = 'usage_rollups'").get();
  const sums = hasRollups === undefined ? 'all' : 'of pruned';
  return [...faults, ...(await bookFaults('sqlite', find, { sums }))];
}
