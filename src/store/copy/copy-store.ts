/** Copies all that a database holds to another one, of either kind. */
import { CopyError, commonTables, type Side, type Table } from './side.ts';
import { differenceOf, TableDigest, type TableFacts } from './table-digest.ts';

export interface CopyProgress {
  readonly step: 'copy' | 'verify';
  readonly table: string;
  readonly rows: number;
  readonly rowsTotal: number;
}

export interface CopyOptions {
  /** Called after each batch of rows. */
  readonly onProgress: (progress: CopyProgress) => void;
  /** Ends the copy, with nothing written. */
  readonly signal: AbortSignal;
}

/**
 * Copies the tables that both databases have, by the columns that they have at this moment. It then reads the copy and compares each table
 * with what it has read of the source: the number of rows, the sum of each column of numbers, and a hash of all values in the order of the
 * primary key. The books of both must be right. All or nothing: the target keeps what was written only if all of this holds.
 * @throws CopyError; the reason of the signal
 */
export async function copyStore(
  source: Side,
  target: Side,
  { onProgress, signal }: CopyOptions,
): Promise<TableFacts[]> {
  const tables = commonTables(await source.tables(), await target.tables());
  await checkEmpty(target, tables);
  await checkBooks(source);
  const kept = (text: string) => target.kept(source.kept(text));
  const copied: TableFacts[] = [];
  for (const step of ['copy', 'verify'] as const) {
    for (const table of tables) {
      const read = step === 'copy' ? source : target;
      const digest = new TableDigest(table, kept);
      const rowsTotal = await source.count(table);
      let rows = 0;
      for await (const batch of read.rows(table)) {
        signal.throwIfAborted();
        digest.add(batch);
        if (step === 'copy') await target.insert(table, batch);
        rows += batch.length;
        onProgress({ step, table: table.name, rows, rowsTotal });
      }
      if (step === 'copy') copied.push(digest.facts());
      else checkSame(copied, digest.facts());
    }
  }
  await checkBooks(target);
  signal.throwIfAborted();
  await target.commit();
  return copied;
}

async function checkEmpty(target: Side, tables: readonly Table[]): Promise<void> {
  for (const table of tables) {
    if ((await target.count(table)) === 0) continue;
    throw new CopyError(
      `${target.name} is not empty: there are rows in ${table.name}. Choose an empty database.`,
    );
  }
}

async function checkBooks({ faults, name }: Side): Promise<void> {
  const found = await faults();
  if (found.length > 0) throw new CopyError(`${name} cannot be copied. ${found.join(' ')}`);
}

function checkSame(copied: readonly TableFacts[], found: TableFacts): void {
  const before = copied.find(({ table }) => table === found.table);
  const difference = before && differenceOf(before, found);
  if (difference === undefined) return;
  throw new CopyError(`The copy of the table ${found.table} is not exact: ${difference}. Nothing was kept.`);
}
