import type Sqlite from 'better-sqlite3';
import { StoreError } from '../store-error.ts';
import * as initial from './0024-initial.ts';
import { columnTypes, type DatabaseKind, type Migrations, type Run } from './column-types.ts';

/** Applied in the order of their names, and never edited. Imported by name, so that a bundle contains them. */
export const migrations: Migrations = { '0024-initial': initial };

/** The last migration of the former schema, from which `0024-initial` carries a database over. */
const lastFormer = '0023-labels';

/** The last program that upgrades earlier databases. */
export const lastBefore = 'the git revision a56acea5';

/** The names of the applied migrations, in order; none if Parley never opened the database. */
export function appliedMigrations(connection: Sqlite.Database): string[] {
  const hasTable = connection
    .prepare<[], unknown>("select 1 from sqlite_schema where name = 'kysely_migration'")
    .get();
  if (hasTable === undefined) return [];
  return connection
    .prepare<[], { name: string }>('select name from kysely_migration order by name')
    .all()
    .map(({ name }) => name);
}

/** Compares the migrations of a database with those of this program. */
export interface SchemaState {
  /** In order; none if Parley never opened the database. */
  readonly applied: readonly string[];
  /** Migrations of this program that are not applied. */
  readonly pending: readonly string[];
  /** A migration that this program must know to use the database, but does not know. */
  readonly tooNew: string | undefined;
  /** The last migration of a database that this program cannot carry over. */
  readonly tooOld: string | undefined;
}

/** @param needed the migrations that a program must know. Default: all that are applied */
export function compared(known: Migrations, applied: readonly string[], needed = applied): SchemaState {
  const last = applied.at(-1);
  return {
    applied,
    pending: Object.keys(known).filter((name) => !applied.includes(name)),
    tooNew: needed.find((name) => name > lastFormer && !Object.hasOwn(known, name)),
    tooOld: last !== undefined && last < lastFormer ? last : undefined,
  };
}

export function schemaState(connection: Sqlite.Database): SchemaState {
  return compared(migrations, appliedMigrations(connection));
}

/** @param database path or name of the database. @throws StoreError */
export function checkSchema({ tooNew, tooOld }: SchemaState, database: string): void {
  if (tooNew !== undefined)
    throw new StoreError(
      `A newer Parley has changed the database ${database} (${tooNew}). Run that version or a newer one, or restore a backup from before.`,
    );
  if (tooOld !== undefined)
    throw new StoreError(
      `The database ${database} is of an early preview (${tooOld}). Start Parley of ${lastBefore} on it once, then this version.`,
    );
}

/** @throws StoreError */
export function checkKnown(connection: Sqlite.Database, path = connection.name): void {
  checkSchema(schemaState(connection), path);
}

/** Called before each migration. @param place such as `1 of 2` */
export type OnMigration = (name: string, place: string) => void;

/** Applies the migrations that are pending, in the transaction of the caller. */
export async function applyPending(
  run: Run,
  dialect: DatabaseKind,
  { applied, pending }: SchemaState,
  onMigration: OnMigration = () => undefined,
  known = migrations,
): Promise<void> {
  await run(`create table if not exists kysely_migration
    (name varchar(255) not null primary key, timestamp varchar(255) not null)`);
  await run(`delete from kysely_migration where name <= '${lastFormer}'`);
  await run('drop table if exists kysely_migration_lock');
  const changes = Object.entries(known).filter(([name]) => pending.includes(name));
  for (const [at, [name, { up, needs }]] of changes.entries()) {
    onMigration(name, `${at + 1} of ${changes.length}`);
    await up(run, columnTypes[dialect], applied);
    if (needs !== undefined && dialect === 'postgres')
      await run(`insert into needed_migrations values ('${needs}') on conflict do nothing`);
    await run(`insert into kysely_migration values ('${name}', '${new Date().toISOString()}')`);
  }
}
