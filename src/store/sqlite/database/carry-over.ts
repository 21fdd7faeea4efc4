/** Copies usage records and ledger entries into their smaller tables, between the migrations 0012 and 0013. */
import { setImmediate as nextTurn } from 'node:timers/promises';
import {
  ledgerColumns,
  ledgerValues,
  numberReasons,
  numberWords,
  usageColumns,
  usageValues,
} from '../../migrations/integer-rows.ts';
import type { Connection } from './connection.ts';

/** Rows per transaction, for some 50 ms. */
const rowsAtOnce = 5_000;

export interface UpgradeProgress {
  readonly table: string;
  readonly rows: number;
  readonly rowsTotal: number;
}

/** Each step is durable, and the old tables stay unchanged, so that after a kill the next call continues. */
export async function carryOver(
  connection: Connection,
  onProgress: (progress: UpgradeProgress) => void,
): Promise<void> {
  const ofUsage = `from usage_records as old
    where old.id > (select coalesce('req_' || lower(hex(max(id))), '') from usage_rows) order by old.id limit ${rowsAtOnce}`;
  await copy(
    connection,
    onProgress,
    ['usage_records', 'usage_rows'],
    [
      ...numberWords('old', `from (select model, code, state ${ofUsage}) as old`),
      `insert into usage_rows (${usageColumns}) select ${usageValues('old')} ${ofUsage}`,
    ],
  );
  const last = `(select account, id from ledger_rows order by account desc, id desc limit 1) as last`;
  const ofLedger = `from ledger_entries as old
    where (old.account_id, old.id) > (
      coalesce((select accounts.id from ${last} join accounts on accounts.number = last.account), ''),
      coalesce((select 'led_' || lower(hex(id)) from ${last}), ''))
    order by old.account_id, old.id limit ${rowsAtOnce}`;
  await copy(
    connection,
    onProgress,
    ['ledger_entries', 'ledger_rows'],
    [
      ...numberReasons('old', `from (select kind, reason ${ofLedger}) as old`),
      `insert into ledger_rows (${ledgerColumns}) select ${ledgerValues('old')} ${ofLedger}`,
    ],
  );
}

/** @param steps the steps, of which the last one inserts rows */
async function copy(
  connection: Connection,
  onProgress: (progress: UpgradeProgress) => void,
  [from, to]: readonly [string, string],
  steps: readonly string[],
): Promise<void> {
  const countOf = (table: string) =>
    Number(connection.prepare(`select count(*) from ${table}`).pluck().get());
  const rowsTotal = countOf(from);
  let rows = countOf(to);
  const statements = steps.map((step) => connection.prepare(step));
  const next = connection.transaction(
    () => statements.map((statement) => statement.run().changes).at(-1) ?? 0,
  );
  while (rows < rowsTotal) {
    const copied = next.immediate();
    if (copied === 0) throw new Error(`${rowsTotal - rows} rows of ${from} cannot be carried over`);
    rows += copied;
    onProgress({ table: from, rows, rowsTotal });
    await nextTurn();
  }
}
