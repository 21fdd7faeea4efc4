import { type ColumnDataType, type CreateTableBuilder, type Expression, type Kysely, sql } from 'kysely';
import type { Migration } from 'kysely/migration';
import type { Dialect } from '../sql/statement.ts';

type ColumnType = ColumnDataType | Expression<unknown>;
type TableBuilder = CreateTableBuilder<string, never>;

/** The types of columns and the kinds of tables, in the SQL of a database. */
export interface ColumnTypes {
  readonly dialect: Dialect;
  readonly id: ColumnType;
  /** Sorts by its bytes. */
  readonly text: ColumnType;
  /** 64 bits. */
  readonly integer: ColumnType;
  readonly bytes: ColumnType;
  /** For a table that is read by its primary key. */
  readonly keyed: <Table extends TableBuilder>(table: Table) => Table;
  /** For a table with large rows, or without a primary key. */
  readonly plain: <Table extends TableBuilder>(table: Table) => Table;
}

const sqlite: ColumnTypes = {
  dialect: 'sqlite',
  id: 'text',
  text: 'text',
  integer: 'integer',
  bytes: 'blob',
  keyed: (table) => table.modifyEnd(sql`strict, without rowid`) as typeof table,
  plain: (table) => table.modifyEnd(sql`strict`) as typeof table,
};

const postgres: ColumnTypes = {
  dialect: 'postgres',
  id: 'uuid',
  text: sql`text collate "C"`,
  integer: 'bigint',
  bytes: 'bytea',
  keyed: (table) => table,
  plain: (table) => table,
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
  dialect: Dialect,
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
