/** The second flight of a group: writes what its operations decided. */

import type { Meter } from '../../../core/entities/rates.ts';
import { insertAudit } from '../../entities/audit.ts';
import { endClaim } from '../../entities/idempotency.ts';
import { endColumns, recordColumns } from '../../entities/usage-records.ts';
import { plainArray, textArray } from '../database/arrays.ts';
import { queryOf } from '../database/executor.ts';
import { toUuid } from '../database/ids.ts';
import type { Query, Transaction } from '../database/transaction.ts';
import type { Books } from './books.ts';

type Kind = 'uuid' | 'text' | 'bigint';

const uuidColumns: ReadonlySet<string> = new Set(['id', 'account_id', 'key_id']);
const textColumns: ReadonlySet<string> = new Set([
  ...['operation', 'model', 'wire', 'state', 'code', 'tokens_source', 'reserved_month'],
  ...['kind', 'reason', 'reference', 'month', 'owner', 'unit', 'period', 'counted', 'rate_uses'],
]);

function kindOf(column: string): Kind {
  if (uuidColumns.has(column)) return 'uuid';
  return textColumns.has(column) ? 'text' : 'bigint';
}

/** `unnest` of an array for each column. */
function unnested(columns: readonly string[]): string {
  const arrays = columns.map((column, n) => `$${n + 1}::${kindOf(column)}[]`);
  return `unnest(${arrays.join(', ')}) as new (${columns.join(', ')})`;
}

function insertInto(table: string, columns: readonly string[]): string {
  return `insert into ${table} (${columns.join(', ')}) select * from ${unnested(columns)}`;
}

const newRecordColumns = [...recordColumns, 'node_epoch', 'counted', 'rate_uses'] as const;
const endedColumns = ['id', ...endColumns] as const;
const entryColumns = [
  'account_id',
  'id',
  'amount_nano_credits',
  'created_at_ms',
  'kind',
  'reason',
  'reference',
];
const countColumns = ['owner', 'unit', 'period', 'used', 'reserved'];
const rateColumns = ['owner', 'minute', 'requests', 'tokens', 'running'] as const;
const counterColumns = ['account_id', 'month', 'used_units', 'reserved_units'];

const texts = {
  insert_records: insertInto('usage_records', newRecordColumns),
  end_records: `update usage_records as record set ${endColumns.map((name) => `${name} = new.${name}`).join(', ')},
    reserved_units = 0, reserved_month = null, hold_nano_credits = 0, counted = null, rate_uses = null
    from ${unnested(endedColumns)} where record.id = new.id and record.state = 'started'`,
  extend_records: `update usage_records as record set reserved_units = new.reserved_units
    from ${unnested(['id', 'reserved_units'])} where record.id = new.id and record.state = 'started'`,
  extend_counts: `update usage_records as record set counted = new.counted
    from ${unnested(['id', 'counted'])} where record.id = new.id and record.state = 'started'`,
  insert_limit_counts: insertInto('limit_counts', countColumns),
  update_limit_counts: `update limit_counts as count set used = count.used + new.used,
    reserved = count.reserved + new.reserved
    from ${unnested(countColumns)}
    where count.owner = new.owner and count.unit = new.unit and count.period = new.period`,
  write_rates: `${insertInto('rates', rateColumns)} on conflict (owner) do update
    set ${rateColumns.map((name) => `${name} = excluded.${name}`).join(', ')}`,
  insert_entries: insertInto('ledger_entries', entryColumns),
  update_accounts: `update accounts as account set
    balance_nano_credits = account.balance_nano_credits + new.balance,
    held_nano_credits = account.held_nano_credits + new.held
    from ${unnested(['id', 'balance', 'held'])} where account.id = new.id`,
  insert_counters: insertInto('fair_use', counterColumns),
  update_counters: `update fair_use as counter set used_units = counter.used_units + new.used_units,
    reserved_units = counter.reserved_units + new.reserved_units
    from ${unnested(counterColumns)} where counter.account_id = new.account_id and counter.month = new.month`,
};

type Row = Readonly<Record<string, unknown>>;

/** A write of rows, whose members have the names of the columns. */
function writeOf(name: keyof typeof texts, columns: readonly string[], rows: readonly Row[]): Query {
  const values = columns.map((column) => {
    const kind = kindOf(column);
    const cells = rows.map((row) => row[column] as string | bigint | number | null | undefined);
    if (kind === 'text') return textArray(cells);
    return plainArray(kind === 'bigint' ? cells : cells.map((cell) => cell && toUuid(String(cell))));
  });
  return { name, text: texts[name], values };
}

/** Sends all writes. The commit tells whether they succeeded. */
export function writeBooks(transaction: Transaction, books: Books): void {
  for (const query of writesOf(books)) transaction.query(query);
}

function* writesOf(books: Books): Generator<Query> {
  const extended = [...books.extendedRecords].map(([id, units]) => ({ id, reserved_units: units }));
  const counts = books.countChanges();
  const counters = books
    .unitsChanges()
    .map(({ counter, used, reserved, isNew }) => ({
      ...{ isNew, account_id: counter.accountId, month: counter.month },
      ...{ used_units: used, reserved_units: reserved },
    }));
  const writes: readonly (readonly [keyof typeof texts, readonly string[], readonly Row[]])[] = [
    [
      'update_accounts',
      ['id', 'balance', 'held'],
      books.fundsChanges() as readonly object[] as readonly Row[],
    ],
    ['insert_counters', counterColumns, counters.filter(({ isNew }) => isNew)],
    ['update_counters', counterColumns, counters.filter(({ isNew }) => !isNew)],
    ['insert_limit_counts', countColumns, rowsOf(counts.filter(({ isNew }) => isNew))],
    ['update_limit_counts', countColumns, rowsOf(counts.filter(({ isNew }) => !isNew))],
    ['write_rates', rateColumns, [...books.meters].map(rateRow)],
    ['extend_counts', ['id', 'counted'], [...books.extendedCounts].map(([id, counted]) => ({ id, counted }))],
    ['extend_records', ['id', 'reserved_units'], extended],
    ['insert_records', newRecordColumns, books.insertedRecords],
    ['end_records', endedColumns, books.endedRecords],
    ['insert_entries', entryColumns, books.insertedEntries.map(entryRow)],
  ];
  for (const [name, columns, rows] of writes) if (rows.length > 0) yield writeOf(name, columns, rows);
  const steps = [...books.audits.map(insertAudit), ...books.claimEnds.map(endClaim), ...books.steps];
  for (const { statement, parameters } of steps) yield queryOf(statement, parameters);
}

function rateRow([owner, { minute, requests, tokens, running }]: readonly [string, Meter]): Row {
  return { owner, minute, requests, tokens, running };
}

function rowsOf(changes: readonly object[]): readonly Row[] {
  return changes as readonly Row[];
}

/** Debits have no reference: their id is that of the request. */
function entryRow(entry: Books['insertedEntries'][number]): Row {
  return {
    account_id: entry.accountId,
    id: entry.id,
    amount_nano_credits: entry.amount,
    created_at_ms: entry.createdAtMs,
    kind: entry.kind,
    reason: entry.reason,
    reference: entry.kind === 'debit' ? null : entry.reference,
  };
}
