import { type Kysely, sql } from 'kysely';
import type { Migration } from 'kysely/migration';

/** The store that a configuration names. */
export type DatabaseKind = 'sqlite' | 'postgres';

/** The words of a database for columns and tables. */
export interface ColumnTypes {
  readonly dialect: DatabaseKind;
  readonly id: string;
  /** Sorts by its bytes. */
  readonly text: string;
  /** 64 bits. */
  readonly integer: string;
  readonly bytes: string;
  /** The end of a table that is read by its primary key. */
  readonly keyed: string;
  /** The end of a table with large rows. */
  readonly plain: string;
}

const sqlite: ColumnTypes = {
  dialect: 'sqlite',
  id: 'text',
  text: 'text',
  integer: 'integer',
  bytes: 'blob',
  keyed: 'strict, without rowid',
  plain: 'strict',
};

const postgres: ColumnTypes = {
  dialect: 'postgres',
  id: 'uuid',
  text: 'text collate "C"',
  integer: 'bigint',
  bytes: 'bytea',
  keyed: '',
  plain: '',
};

export interface Change {
  up(db: Kysely<unknown>, types: ColumnTypes): Promise<void>;
  /**
   * For a change that removes or renames: the migration of the version that stopped using the old parts. On PostgreSQL,
   * programs that do not know that migration then refuse the database. Default: the change only adds, and earlier
   * programs continue
   */
  readonly needs?: string;
}

/** The changes as migrations of a database. */
export function migrationsOf(
  dialect: DatabaseKind,
  changes: Readonly<Record<string, Change>>,
): Record<string, Migration> {
  const types = dialect === 'sqlite' ? sqlite : postgres;
  const migrations = Object.entries(changes).map(([name, change]): [string, Migration] => [
    name,
    {
      async up(db: Kysely<unknown>) {
        await change.up(db, types);
        if (change.needs === undefined || dialect === 'sqlite') return;
        await sql`insert into needed_migrations values (${change.needs}) on conflict do nothing`.execute(db);
      },
    },
  ]);
  return Object.fromEntries(migrations);
}
