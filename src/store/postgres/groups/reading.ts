/** The first flight of a group: begins the transaction, locks its accounts and reads what its operations decide on. */

import type { Count } from '../../../core/entities/count.ts';
import type { LedgerEntry } from '../../../core/entities/ledger.ts';
import { Meter } from '../../../core/entities/rates.ts';
import type { AccountId, LedgerEntryId, RequestId } from '../../../core/values/ids.ts';
import type { NanoCredits } from '../../../core/values/money.ts';
import type { Month } from '../../../core/values/month.ts';
import { countedFromText } from '../../tables/limit-counts.ts';
import { rateUsesFromText } from '../../tables/rate-uses.ts';
import { plainArray, textArray } from '../database/arrays.ts';
import { fromUuid, storable, toUuid } from '../database/ids.ts';
import type { Transaction } from '../database/transaction.ts';
import { Books } from './books.ts';
import type { Operation } from './operations.ts';

/** Fails where this node was declared dead. Whoever declares that waits for the end of this transaction. */
const fence = 'select 1 from nodes where epoch = $1 and not dead for key share';
/** Everybody who locks several accounts locks them in this order. */
const lockAccounts = `
  select id, balance_nano_credits, held_nano_credits, policy_version from accounts
  where id = any($1::uuid[]) order by id for no key update`;
const readCounters = `
  select account_id, month, used_units, reserved_units from fair_use
  where account_id = any($1::uuid[]) and month = any($2::text[])`;
const readLimitCounts = `
  select owner, unit, period, used, reserved from limit_counts
  where owner = any($1::text[]) and period = any($2::text[])`;
const readRates = `
  select wanted.owner, coalesce(minute, 0) as minute, coalesce(requests, 0) as requests, coalesce(tokens, 0) as tokens,
    coalesce(running, 0) as running, floor(extract(epoch from now()) * 1000)::bigint as now_ms
  from unnest($1::text[]) as wanted (owner) left join rates on rates.owner = wanted.owner`;
const readRecords = `
  select id, state, hold_nano_credits, reserved_units, counted, rate_uses, cost_nano_credits, overrun_nano_credits from usage_records
  where id = any($1::uuid[])`;
const readEntries = `
  select id, account_id, kind, amount_nano_credits, reason, reference, created_at_ms from ledger_entries
  where account_id = any($1::uuid[]) and reference = any($2::text[]) and kind <> 'debit'`;

/** This node was declared dead: its requests were released. */
export class FencedError extends Error {
  readonly epoch: bigint;

  /** @param epoch that the others do not accept any more */
  constructor(epoch: bigint) {
    super('Another node has declared this one dead, and released its requests.');
    this.name = 'FencedError';
    this.epoch = epoch;
  }
}

export interface Read {
  readonly operations: readonly Operation<unknown>[];
  /** Of this node. Undefined if no operation writes a request. */
  readonly epoch: bigint | undefined;
  /** Whether an earlier attempt may have been committed. */
  readonly isRepeated: boolean;
}

/** @throws FencedError */
export async function readBooks(
  transaction: Transaction,
  { operations, epoch, isRepeated }: Read,
): Promise<Books> {
  const books = new Books();
  const reads = readAmounts(transaction, operations, books);
  if (epoch !== undefined) reads.unshift(readFence(transaction, epoch));
  const records = operations.filter(({ hasRecord }) => hasRecord || isRepeated);
  const ids = records.flatMap(({ recordId }) => recordId ?? []);
  if (ids.length > 0) reads.push(readStoredRecords(transaction, ids, books));
  const entries = operations.flatMap(({ entry }) => entry ?? []);
  if (entries.length > 0) reads.push(readStoredEntries(transaction, entries, books));
  await Promise.all(reads);
  return books;
}

async function readFence(transaction: Transaction, epoch: bigint): Promise<void> {
  const { rowCount } = await transaction.query({ name: 'fence', text: fence, values: [epoch] });
  if (rowCount !== 1) throw new FencedError(epoch);
}

function readAmounts(
  transaction: Transaction,
  operations: readonly Operation<unknown>[],
  books: Books,
): Promise<void>[] {
  const reads: Promise<void>[] = [];
  const accounts = new Set(operations.flatMap(({ accountId }) => accountId ?? []));
  if (accounts.size > 0) reads.push(lockFunds(transaction, [...accounts], books));
  const counters = operations.flatMap(({ counter }) => counter ?? []);
  if (counters.length > 0) {
    const ids = new Set(counters.map(({ accountId }) => accountId));
    const months = new Set(counters.map(({ month }) => month));
    reads.push(readUnits(transaction, { ids: [...ids], months: [...months] }, books));
  }
  const counts = operations.flatMap(({ counted = [] }) => counted);
  if (counts.length > 0) reads.push(readCounts(transaction, counts, books));
  const rated = new Set(operations.flatMap(({ rated = [] }) => rated));
  if (rated.size > 0) reads.push(readMeters(transaction, [...rated], books));
  return reads;
}

async function lockFunds(transaction: Transaction, ids: readonly AccountId[], books: Books): Promise<void> {
  const values = [plainArray(ids.map(toUuid))];
  const { rows } = await transaction.query({ name: 'lock_accounts', text: lockAccounts, values });
  for (const row of rows) {
    books.readFunds(fromUuid('accounts', row.id) as AccountId, {
      balance: row.balance_nano_credits,
      held: row.held_nano_credits,
      policyVersion: row.policy_version,
    });
  }
}

async function readUnits(
  transaction: Transaction,
  { ids, months }: { readonly ids: readonly AccountId[]; readonly months: readonly Month[] },
  books: Books,
): Promise<void> {
  const values = [plainArray(ids.map(toUuid)), textArray(months)];
  const { rows } = await transaction.query({ name: 'read_counters', text: readCounters, values });
  for (const row of rows) {
    const counter = {
      accountId: fromUuid('accounts', row.account_id) as AccountId,
      month: row.month as Month,
    };
    books.readUnits(counter, { used: Number(row.used_units), reserved: Number(row.reserved_units) });
  }
}

/** Whoever changes a count has locked its account. */
async function readCounts(transaction: Transaction, counts: readonly Count[], books: Books): Promise<void> {
  const owners = new Set(counts.map(({ owner }) => owner));
  const periods = new Set(counts.map(({ period }) => period));
  const values = [textArray([...owners]), textArray([...periods])];
  const { rows } = await transaction.query({ name: 'read_limit_counts', text: readLimitCounts, values });
  for (const { owner, unit, period, used, reserved } of rows) {
    books.readCount({ owner, unit, period }, { used, reserved });
  }
}

/** Whoever changes rates has locked the account. */
async function readMeters(transaction: Transaction, owners: readonly string[], books: Books): Promise<void> {
  const values = [textArray(owners)];
  const { rows } = await transaction.query({ name: 'read_rates', text: readRates, values });
  for (const { owner, minute, requests, tokens, running, now_ms: nowMs } of rows) {
    const numbers = { minute, requests, tokens, running };
    const meter = Object.assign(
      new Meter(),
      Object.fromEntries(Object.entries(numbers).map(([name, value]) => [name, Number(value)])),
    );
    books.readMeter(owner, meter, Number(nowMs));
  }
}

async function readStoredRecords(
  transaction: Transaction,
  ids: readonly RequestId[],
  books: Books,
): Promise<void> {
  const values = [plainArray(ids.map(toUuid))];
  const { rows } = await transaction.query({ name: 'read_records', text: readRecords, values });
  for (const row of rows) {
    books.readRecord(fromUuid('usage_records', row.id) as RequestId, {
      state: row.state,
      hold: row.hold_nano_credits,
      units: Number(row.reserved_units),
      counted: countedFromText(row.counted),
      rateUses: rateUsesFromText(row.rate_uses),
      cost: row.cost_nano_credits ?? undefined,
      overrun: row.overrun_nano_credits ?? undefined,
    });
  }
}

async function readStoredEntries(
  transaction: Transaction,
  entries: readonly LedgerEntry[],
  books: Books,
): Promise<void> {
  const values = [
    plainArray(entries.map(({ accountId }) => toUuid(accountId))),
    textArray(entries.map(({ reference }) => storable(reference))),
  ];
  const { rows } = await transaction.query({ name: 'read_entries', text: readEntries, values });
  for (const row of rows) {
    books.readEntry({
      id: fromUuid('ledger_entries', row.id) as LedgerEntryId,
      accountId: fromUuid('accounts', row.account_id) as AccountId,
      kind: row.kind,
      amount: row.amount_nano_credits as NanoCredits,
      reason: row.reason,
      reference: row.reference,
      createdAtMs: Number(row.created_at_ms),
    });
  }
}
