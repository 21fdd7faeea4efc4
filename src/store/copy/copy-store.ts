import { createHash } from 'node:crypto';
import { requestOfDebit } from '../../core/values/ids.ts';
import type { Queries } from '../sql/executor.ts';
import { StoreError } from '../store-error.ts';
import { type Row, type Table, tables, type Value } from './tables.ts';

/** One of the two databases of a copy. Nobody else uses it, and the copy is one transaction. */
export interface Side extends Queries {
  /** For messages; without the password of a URL. */
  readonly name: string;
  insert(table: Table, rows: readonly Row[]): Promise<void>;
  /** How the database stores a text. PostgreSQL cannot store zero bytes. */
  kept(text: string): string;
  /** Whole sentences; empty if the books are exact. */
  faults(): Promise<readonly string[]>;
  /** Makes the inserted rows durable, and the database ready for a server. */
  commit(): Promise<void>;
  /** Without a commit before, nothing has changed. */
  close(): Promise<void>;
}

/** Copies the whole content of a database to another one, of either kind. */
export interface CopyProgress {
  readonly step: 'copy' | 'verify';
  readonly table: string;
  readonly rows: number;
  readonly rowsTotal: number;
}

export interface CopyOptions {
  /** Called after each batch of rows. */
  readonly onProgress: (progress: CopyProgress) => void;
  /** Cancels the copy, and nothing is written. */
  readonly signal: AbortSignal;
}

/**
 * Copies all tables. Then reads the copy and compares each table with the source: the number of rows, and a hash of all values in the
 * order of the primary key. The books of both must be exact. If any check fails, nothing is written to the target.
 * @throws StoreError; the reason of the signal
 */
export async function copyStore(
  source: Side,
  target: Side,
  { onProgress, signal }: CopyOptions,
): Promise<TableFacts[]> {
  await checkEmpty(target);
  await checkBooks(source);
  const kept = (text: string) => target.kept(source.kept(text));
  const copied = new Map<Table, TableFacts>();
  for (const step of ['copy', 'verify'] as const) {
    for (const table of tables) {
      const hash = createHash('sha256');
      let count = 0;
      const rowsTotal = await countOf(source, table);
      for await (const rows of rowsOf(step === 'copy' ? source : target, table)) {
        signal.throwIfAborted();
        for (const row of rows) hash.update(hashed(row, kept));
        count += rows.length;
        if (step === 'copy') await target.insert(table, rows);
        onProgress({ step, table: table.name, rows: count, rowsTotal });
      }
      const facts = { table: table.name, rows: count, sha256: hash.digest('hex') };
      if (step === 'copy') copied.set(table, facts);
      else checkSame(copied.get(table), facts);
    }
  }
  await checkBooks(target);
  signal.throwIfAborted();
  await target.commit();
  return [...copied.values()];
}

async function countOf(side: Side, { count }: Table): Promise<number> {
  return (await side.get(count, {})) ?? 0;
}

async function* rowsOf(side: Side, { first, after, rowsAtOnce }: Table): AsyncIterable<readonly Row[]> {
  let rows = await side.all(first, {});
  while (rows.length > 0) {
    yield rows.map(withReference);
    const last = rows.at(-1);
    if (last === undefined || rows.length < rowsAtOnce) return;
    rows = await side.all(after, last);
  }
}

/** PostgreSQL stores no reference for a debit: its id is that of the request. */
function withReference(row: Row): Row {
  if (row['kind'] !== 'debit' || row['reference'] !== null) return row;
  return { ...row, reference: requestOfDebit(String(row['id'])) };
}

async function checkEmpty(target: Side): Promise<void> {
  for (const table of tables) {
    if ((await countOf(target, table)) === 0) continue;
    throw new StoreError(`${target.name} is not empty: ${table.name} has rows. Choose an empty database.`);
  }
}

async function checkBooks(side: Side): Promise<void> {
  const found = await side.faults();
  if (found.length > 0) throw new StoreError(`${side.name} cannot be copied. ${found.join(' ')}`);
}

function checkSame(copied: TableFacts | undefined, { table, rows, sha256 }: TableFacts): void {
  if (copied?.rows === rows && copied.sha256 === sha256) return;
  const difference =
    copied?.rows === rows ? 'the values of the rows differ' : `${copied?.rows} rows became ${rows}`;
  throw new StoreError(`The copy of the table ${table} is not exact: ${difference}. Nothing was kept.`);
}

/** Facts that are equal for equal tables. */
export interface TableFacts {
  readonly table: string;
  readonly rows: number;
  /** SHA-256 of all values of all rows in the order of the primary key, in hexadecimal digits. */
  readonly sha256: string;
}

/** A line for a row. Values of different types never have the same form. @param kept a text as both databases store it */
function hashed(row: Row, kept: (text: string) => string): string {
  const encoded = (value: Value): string | null => {
    if (value === null) return null;
    if (typeof value === 'bigint') return `i${value}`;
    if (typeof value === 'string') return `t${kept(value)}`;
    return `b${Buffer.from(value.buffer, value.byteOffset, value.byteLength).toString('base64')}`;
  };
  return `${JSON.stringify(Object.values(row).map(encoded))}\n`;
}
