/** One of the two databases of a copy. Both sides give and take rows in the same form. */

/** Ids are texts, whole numbers bigints. */
export type Value = bigint | string | Uint8Array | null;
/** The values of some columns. */
export type Row = readonly Value[];

export interface Table {
  readonly name: string;
  readonly columns: readonly string[];
  /** The columns of the primary key. */
  readonly key: readonly string[];
}

/** The copy cannot be made, or is not exact. The message is for the person who runs it. */
export class CopyError extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'CopyError';
  }
}

/** A database in use by this copy alone, in one transaction. */
export interface Side {
  /** For messages; without the password of a URL. */
  readonly name: string;
  /** All tables; those that others refer to come before them. */
  tables(): Promise<readonly Table[]>;
  count(table: Table): Promise<number>;
  /** All rows by their primary key, in batches. */
  rows(table: Table): AsyncIterable<readonly Row[]>;
  insert(table: Table, rows: readonly Row[]): Promise<void>;
  /** When the oldest request began; undefined if there is none. */
  firstRecordMs(): Promise<number | undefined>;
  /** How the database keeps a text. PostgreSQL has no zero bytes in it. */
  kept(text: string): string;
  /** Whole sentences; empty if the books are right. */
  faults(): Promise<readonly string[]>;
  /** Makes what was inserted durable, and ready for a server. */
  commit(): Promise<void>;
  /** Without a commit before, nothing has changed. */
  close(): Promise<void>;
}

/**
 * These describe the database itself: its migrations, the nodes that use it, the versions that caches compare, the rates of the running
 * minute, what requests that still run reserve of counts, and a table that a trigger fills for earlier versions. They are not copied.
 */
const ownTables: ReadonlySet<string> = new Set([
  ...[
    'kysely_migration',
    'kysely_migration_lock',
    'needed_migrations',
    'nodes',
    'policy',
    'rates',
    'fair_use',
  ],
]);
const ownColumns: ReadonlySet<string> = new Set([
  ...['counted', 'node_epoch', 'policy_version', 'rate_uses', 'reserved', 'reserved_month'],
]);

/**
 * The tables to copy, with the columns that both have.
 * @throws CopyError if the target lacks a table or a column of the source
 */
export function commonTables(source: readonly Table[], target: readonly Table[]): Table[] {
  const copied = source.filter(({ name }) => !ownTables.has(name));
  const missing = copied.find(({ name }) => !target.some((other) => other.name === name));
  if (missing) throw new CopyError(`The target has no table ${missing.name}.`);
  return target.flatMap((table) => {
    const from = copied.find(({ name }) => name === table.name);
    if (from === undefined) return [];
    // In an order of their own, so that the hash of a table is the same in both databases.
    const columns = from.columns.filter((column) => table.columns.includes(column)).toSorted();
    const lost = from.columns.find((column) => !columns.includes(column) && !ownColumns.has(column));
    if (lost) throw new CopyError(`The table ${table.name} of the target has no column ${lost}.`);
    if (from.key.length === 0) throw new CopyError(`The table ${table.name} has no primary key.`);
    return [{ name: table.name, columns, key: from.key }];
  });
}

const rowsAtOnce = 2_000;
const bytesAtOnce = 4 * 1024 ** 2;

/** Divides rows into batches that fit the memory. */
export function* batchesOf(rows: Iterable<Row>): Iterable<readonly Row[]> {
  let [batch, bytes]: [Row[], number] = [[], 0];
  for (const row of rows) {
    batch.push(row);
    for (const value of row) if (typeof value === 'object' && value !== null) bytes += value.byteLength;
    if (batch.length < rowsAtOnce && bytes < bytesAtOnce) continue;
    yield batch;
    [batch, bytes] = [[], 0];
  }
  if (batch.length > 0) yield batch;
}
