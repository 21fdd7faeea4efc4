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

export const columnTypes: Readonly<Record<DatabaseKind, ColumnTypes>> = {
  sqlite: {
    dialect: 'sqlite',
    id: 'text',
    text: 'text',
    integer: 'integer',
    bytes: 'blob',
    keyed: 'strict, without rowid',
    plain: 'strict',
  },
  postgres: {
    dialect: 'postgres',
    id: 'uuid',
    text: 'text collate "C"',
    integer: 'bigint',
    bytes: 'bytea',
    keyed: '',
    plain: '',
  },
};

/** Runs a statement in the transaction of a migration. */
export type Run = (sql: string) => Promise<unknown>;

export interface Migration {
  /** @param applied the migrations that the database had before, also those of the former schema */
  up(run: Run, types: ColumnTypes, applied: readonly string[]): Promise<void>;
  /**
   * For a change that removes or renames: the migration of the version that stopped using the old parts. On PostgreSQL,
   * programs that do not know that migration then refuse the database. Default: the change only adds, and earlier
   * programs continue
   */
  readonly needs?: string;
}

export type Migrations = Readonly<Record<string, Migration>>;
