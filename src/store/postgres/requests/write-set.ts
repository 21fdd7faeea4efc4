/** The second round trip of a group, or the end of its only one: writes the results of its operations. */

import type { AuditEntry } from '../../../core/entities/audit.ts';
import type { ClaimEnd } from '../../../core/entities/idempotency.ts';
import type { LedgerEntry } from '../../../core/entities/ledger.ts';
import type { Meter } from '../../../core/entities/rates.ts';
import type { RecordEnd } from '../../../core/entities/usage.ts';
import type { KeyId, RequestId } from '../../../core/values/ids.ts';
import { insertAudit } from '../../entities/audit.ts';
import { endClaim } from '../../entities/idempotency.ts';
import { type EndRow, endColumns, type NewRow, recordColumns } from '../../entities/usage-records.ts';
import { type SummedStart, type SumRow, sumOf } from '../../entities/usage-sums.ts';
import { sumColumns, sumKey } from '../../migrations/shared-tables.ts';
import type { Step } from '../../sql/job.ts';
import { quoted } from '../database/arrays.ts';
import { queryOf } from '../database/executor.ts';
import { toUuid } from '../database/ids.ts';
import type { Transaction } from '../database/transaction.ts';
import { failUnless } from '../database/transaction.ts';
import type { ReadSet } from './read-set.ts';

type Kind = 'uuid' | 'text' | 'bigint';

const uuidColumns: ReadonlySet<string> = new Set(['id', 'account_id', 'key_id']);
const textColumns: ReadonlySet<string> = new Set([
  ...['operation', 'model', 'wire', 'state', 'code', 'tokens_source', 'counted', 'rate_uses'],
  ...['engine', 'cause', 'end_user', 'tags'],
  ...['kind', 'reason', 'reference', 'owner', 'unit', 'period', 'day'],
]);

interface Column {
  readonly name: string;
  readonly kind: Kind;
}

function columns(...names: readonly string[]): readonly Column[] {
  return names.map((name) => {
    if (uuidColumns.has(name)) return { name, kind: 'uuid' };
    return { name, kind: textColumns.has(name) ? 'text' : 'bigint' };
  });
}

const namesOf = (all: readonly Column[]) => all.map(({ name }) => name).join(', ');

/** `unnest` with an array for each column. */
function unnested(all: readonly Column[]): string {
  const arrays = all.map(({ kind }, n) => `$${n + 1}::${kind}[]`);
  return `unnest(${arrays.join(', ')}) as new (${namesOf(all)})`;
}

function insertInto(table: string, all: readonly Column[]): string {
  return `insert into ${table} (${namesOf(all)}) select * from ${unnested(all)}`;
}

const newRecordColumns = columns(...recordColumns, 'node_epoch', 'counted', 'rate_uses');
const endedColumns = columns('id', ...endColumns, 'model');
const extendedColumns = columns('id', 'counted');
const keyColumns = columns('id', 'last_used_at_ms');
const fundsColumns = columns('id', 'balance', 'held');
const entryColumns = columns(
  'account_id',
  'id',
  'amount_nano_credits',
  'created_at_ms',
  'kind',
  'reason',
  'reference',
);
const countColumns = columns('owner', 'unit', 'period', 'used', 'reserved');
const rateColumns = columns('owner', 'minute', 'requests', 'tokens', 'running');

const summedColumns = columns(...sumKey, ...sumColumns);
const keyOfSum = sumKey.join(', ');

const endRecords = `update usage_records as record set ${endColumns.map((name) => `${name} = new.${name}`).join(', ')},
    model = coalesce(new.model, record.model), hold_nano_credits = 0, counted = null, rate_uses = null
    from ${unnested(endedColumns)} where record.id = new.id and record.state = 'started'`;

const texts = {
  insert_records: insertInto('usage_records', newRecordColumns),
  /** Fails if one of the records has ended meanwhile, as its sum would count it twice. */
  end_records: `with ended as (${endRecords} returning 1)
    select ${failUnless('count(*) = cardinality($1::uuid[])')} from ended`,
  extend_records: `update usage_records as record set counted = new.counted
    from ${unnested(extendedColumns)} where record.id = new.id and record.state = 'started'`,
  insert_limit_counts: insertInto('limit_counts', countColumns),
  update_limit_counts: `update limit_counts as count set used = count.used + new.used,
    reserved = count.reserved + new.reserved
    from ${unnested(countColumns)}
    where count.owner = new.owner and count.unit = new.unit and count.period = new.period`,
  write_rates: `${insertInto('rates', rateColumns)} on conflict (owner) do update
    set ${rateColumns.map(({ name }) => `${name} = excluded.${name}`).join(', ')}`,
  /** In the order of the keys, so that two nodes lock sums in one order. */
  add_sums: `insert into usage_sums (${namesOf(summedColumns)})
    select ${keyOfSum}, ${sumColumns.map((name) => `sum(${name})`).join(', ')} from ${unnested(summedColumns)}
    group by ${keyOfSum} order by ${keyOfSum}
    on conflict (${keyOfSum}) do update
    set ${sumColumns.map((name) => `${name} = usage_sums.${name} + excluded.${name}`).join(', ')}`,
  insert_entries: insertInto('ledger_entries', entryColumns),
  use_keys: `update api_keys as used set last_used_at_ms = new.last_used_at_ms
    from ${unnested(keyColumns)} where used.id = new.id`,
  update_accounts: `update accounts as account set
    balance_nano_credits = account.balance_nano_credits + new.balance,
    held_nano_credits = account.held_nano_credits + new.held
    from ${unnested(fundsColumns)} where account.id = new.id`,
};

/** The writes of a group, beside the rows that it has read and changed. */
export class WriteSet {
  readonly insertedRecords: NewRow[] = [];
  readonly endedRecords: (EndRow & Pick<RecordEnd, 'model'> & { readonly id: RequestId })[] = [];
  /** Counted amounts of running requests, as text. */
  readonly extendedRecords = new Map<RequestId, string | null>();
  readonly #sums: SumRow[] = [];
  readonly insertedEntries: LedgerEntry[] = [];
  /** Last uses of keys, in milliseconds. */
  readonly usedKeys = new Map<KeyId, number>();
  readonly audits: AuditEntry[] = [];
  readonly claimEnds: ClaimEnd[] = [];
  /** Further writes, which no decision depends on. */
  readonly steps: Step[] = [];

  /** Adds an ended request to its sum. */
  addSum(start: SummedStart, end: RecordEnd): void {
    const sum = sumOf(start, end);
    if (sum !== undefined) this.#sums.push(sum);
  }

  /** Sends all writes. The commit fails if one of them does. */
  write(transaction: Transaction, rows: ReadSet): void {
    const counts = rows.countChanges();
    const extended = [...this.extendedRecords].map(([id, counted]) => ({ id, counted }));
    writeRows(transaction, [
      // First, as others may fail where an end was written before.
      ['end_records', endedColumns, this.endedRecords],
      ['update_accounts', fundsColumns, rows.fundsChanges()],
      ['insert_limit_counts', countColumns, counts.filter(({ isNew }) => isNew)],
      ['update_limit_counts', countColumns, counts.filter(({ isNew }) => !isNew)],
      ['write_rates', rateColumns, [...rows.meters].map(rateRow)],
      ['extend_records', extendedColumns, extended],
      ['insert_records', newRecordColumns, this.insertedRecords],
      ['insert_entries', entryColumns, this.insertedEntries.map(entryRow)],
      ['use_keys', keyColumns, this.#keyRows()],
    ]);
    const steps = [...this.audits.map(insertAudit), ...this.claimEnds.map(endClaim), ...this.steps];
    for (const { statement, parameters } of steps) transaction.query(queryOf(statement, parameters));
    // Last, as requests of other accounts and nodes wait for these rows.
    writeRows(transaction, [['add_sums', summedColumns, this.#sums]]);
  }

  /** In the order of the ids, so that two nodes lock keys in one order. */
  #keyRows() {
    return [...this.usedKeys]
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([id, atMs]) => ({ id, last_used_at_ms: atMs }));
  }
}

type Write = readonly [name: keyof typeof texts, columns: readonly Column[], rows: readonly object[]];

function writeRows(transaction: Transaction, writes: readonly Write[]): void {
  for (const [name, columns, rows] of writes) {
    if (rows.length > 0) transaction.query({ name, text: texts[name], values: arraysOf(columns, rows) });
  }
}

/**
 * An array literal for each column, from rows whose members have the names of the columns. Loops, as a chat writes seventy columns, most of
 * them null: `unnest` fills up arrays that end before others.
 */
function arraysOf(all: readonly Column[], rows: readonly object[]): string[] {
  const arrays: string[] = [];
  for (const { name, kind } of all) {
    let [array, nulls] = ['', 0];
    for (const row of rows) {
      const cell = Reflect.get(row, name) as string | bigint | number | null | undefined;
      if (cell == null) nulls++;
      else {
        if (nulls > 0) array += 'null,'.repeat(nulls);
        nulls = 0;
        array += kind === 'bigint' ? cell : kind === 'text' ? quoted(String(cell)) : toUuid(String(cell));
        array += ',';
      }
    }
    arrays.push(`{${array.slice(0, -1)}}`);
  }
  return arrays;
}

function rateRow([owner, { minute, requests, tokens, running }]: readonly [string, Meter]) {
  return { owner, minute, requests, tokens, running };
}

/** Debits have no reference, as their id is that of the request. */
function entryRow(entry: LedgerEntry) {
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
