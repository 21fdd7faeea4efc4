/** The first round trip of a group: begins the transaction, locks its accounts and reads the rows for its decisions. */

import type { Amounts, Books, Funds, HeldAmounts } from '../../../core/books/books.ts';
import type { Count, CountedAmount } from '../../../core/entities/count.ts';
import type { LedgerEntry } from '../../../core/entities/ledger.ts';
import { Meter, type RateUse } from '../../../core/entities/rates.ts';
import type { RecordEnd } from '../../../core/entities/usage.ts';
import type { AccountId, LedgerEntryId, RequestId } from '../../../core/values/ids.ts';
import type { NanoCredits } from '../../../core/values/money.ts';
import { countedOf } from '../../entities/counts.ts';
import { plainArray, textArray } from '../database/arrays.ts';
import { fromUuid, toUuid } from '../database/ids.ts';
import type { Transaction } from '../database/transaction.ts';

/** Fails if this node was marked dead. A node that marks it waits for the end of this transaction. */
export const fence = 'select 1 from nodes where epoch = $1 and not dead for key share';
/** Locks accounts in this order, as all transactions do. Changes of a count or of rates lock the account first. */
const lockAccounts = `
  select id, balance_nano_credits, held_nano_credits, policy_version from accounts
  where id = any($1::uuid[]) order by id for no key update`;
const readCounts = `
  select owner, unit, period, used, reserved from limit_counts
  where owner = any($1::text[]) and period = any($2::text[])`;
const readRates = `
  select wanted.owner, coalesce(minute, 0) as minute, coalesce(requests, 0) as requests, coalesce(tokens, 0) as tokens,
    coalesce(running, 0) as running, floor(extract(epoch from now()) * 1000)::bigint as now_ms
  from unnest($1::text[]) as wanted (owner) left join rates on rates.owner = wanted.owner`;
const readRecords = `
  select id, account_id, state, price_input, hold_nano_credits, counted, rate_uses,
    cost_nano_credits, overrun_nano_credits
  from usage_records where id = any($1::uuid[])`;
const readEntries = `
  select id, account_id, kind, amount_nano_credits, reason, reference, created_at_ms from ledger_entries
  where account_id = any($1::uuid[]) and reference = any($2::text[]) and kind <> 'debit'`;

/** The rows that an operation decides on. */
export interface Wanted {
  /** The account to lock. Undefined if none is charged. */
  readonly accountId: AccountId | undefined;
  readonly counted?: readonly CountedAmount[] | undefined;
  /** The keys and accounts whose rates are read. */
  readonly rated?: readonly string[] | undefined;
  /** The record that the operation begins or changes. */
  readonly recordId?: RequestId;
  /** Whether that record exists or may exist. */
  readonly hasRecord?: boolean;
  /** The reservation in that record, as this node has written it. It only holds credits. */
  readonly reserved?: HeldAmounts | undefined;
  /** The load or adjustment to enter. */
  readonly entry?: LedgerEntry;
}

/** The part of a usage record that decisions need. */
export interface StoredRecord extends Pick<RecordEnd, 'cost' | 'overrun'> {
  state: string;
  reserved: HeldAmounts;
}

interface Row<Value> {
  readonly before: Readonly<Value> | undefined;
  readonly now: Value;
}

export type FundsRow = Row<Readonly<Funds>>;

/** This node was marked dead, and its requests were released. */
export class FencedError extends Error {
  readonly epoch: bigint;

  /** @param epoch the number that other nodes no longer accept */
  constructor(epoch: bigint) {
    super('Another node has marked this one dead, and released its requests.');
    this.name = 'FencedError';
    this.epoch = epoch;
  }
}

export interface FundsChange {
  readonly id: AccountId;
  readonly balance: bigint;
  readonly held: bigint;
}

export interface CountChange extends Count, Amounts {
  /** Whether the count has no row yet. */
  readonly isNew: boolean;
}

/**
 * The rows of one transaction. They are read and locked first, then the rules of money change them in memory, and then
 * they are written together.
 */
export class ReadSet implements Books {
  readonly #funds = new Map<AccountId, Row<Funds>>();
  readonly #counts = new Map<string, Row<Amounts> & { readonly count: Count }>();
  readonly #meters = new Map<string, Meter>();
  readonly #records = new Map<RequestId, StoredRecord>();
  readonly #entries = new Map<string, LedgerEntry>();

  funds(id: AccountId): Funds {
    const row = this.#funds.get(id);
    if (row === undefined) throw new Error(`there is no account ${id}`);
    return row.now;
  }

  count(count: Count): Amounts {
    const name = nameOf(count);
    let row = this.#counts.get(name);
    if (row === undefined) {
      row = { count, before: undefined, now: { used: 0n, reserved: 0n } };
      this.#counts.set(name, row);
    }
    return row.now;
  }

  isNew(count: Count): boolean {
    const { used, reserved } = this.count(count);
    return this.#counts.get(nameOf(count))?.before === undefined && used === 0n && reserved === 0n;
  }

  meter(owner: string): Meter {
    const meter = this.#meters.get(owner);
    if (meter === undefined) throw new Error(`the rates of ${owner} were not read`);
    return meter;
  }

  record(id: RequestId): StoredRecord | undefined {
    return this.#records.get(id);
  }

  /** The load or adjustment with the reference of `entry`. */
  entry(entry: LedgerEntry): LedgerEntry | undefined {
    return this.#entries.get(referenceOf(entry));
  }

  addEntry(entry: LedgerEntry): void {
    this.#entries.set(referenceOf(entry), entry);
  }

  fundsChanges(): FundsChange[] {
    return [...this.#funds].flatMap(([id, { before, now }]) => {
      const balance = now.balance - (before?.balance ?? 0n);
      const held = now.held - (before?.held ?? 0n);
      return balance === 0n && held === 0n ? [] : { id, balance, held };
    });
  }

  countChanges(): CountChange[] {
    return [...this.#counts.values()].flatMap(({ count: { owner, unit, period }, before, now }) => {
      const used = now.used - (before?.used ?? 0n);
      const reserved = now.reserved - (before?.reserved ?? 0n);
      const isNew = before === undefined;
      return used === 0n && reserved === 0n ? [] : { owner, unit, period, used, reserved, isNew };
    });
  }

  get meters(): Iterable<readonly [owner: string, meter: Meter]> {
    return this.#meters;
  }

  /** The funds of accounts before and after the decisions. */
  get fundsRows(): ReadonlyMap<AccountId, FundsRow> {
    return this.#funds;
  }

  /** Takes rows from memory instead of the database. */
  assume(funds: ReadonlyMap<AccountId, Readonly<Funds>>, wanted: readonly Wanted[]): void {
    for (const [id, before] of funds) this.#funds.set(id, { before, now: { ...before } });
    for (const { recordId, reserved } of wanted) {
      const record = reserved && { state: 'started', reserved, cost: undefined, overrun: undefined };
      if (recordId !== undefined && record) this.#records.set(recordId, record);
    }
  }

  /** Sends the queries for the rows of `wanted`. */
  read(transaction: Transaction, wanted: readonly Wanted[], isRepeated: boolean): Promise<void>[] {
    const reads: Promise<void>[] = [];
    const accounts = new Set(wanted.flatMap(({ accountId }) => accountId ?? []));
    if (accounts.size > 0) reads.push(this.#lockAccounts(transaction, [...accounts]));
    const counts = wanted.flatMap(({ counted = [] }) => counted);
    if (counts.length > 0) reads.push(this.#readCounts(transaction, counts));
    const rated = new Set(wanted.flatMap(({ rated = [] }) => rated));
    if (rated.size > 0) reads.push(this.#readRates(transaction, [...rated]));
    const stored = wanted.filter(({ hasRecord }) => hasRecord || isRepeated);
    const ids = stored.flatMap(({ recordId }) => recordId ?? []);
    if (ids.length > 0) reads.push(this.#readRecords(transaction, ids));
    const entries = wanted.flatMap(({ entry }) => entry ?? []);
    if (entries.length > 0) reads.push(this.#readEntries(transaction, entries));
    return reads;
  }

  async #lockAccounts(transaction: Transaction, ids: readonly AccountId[]): Promise<void> {
    const values = [plainArray(ids.map(toUuid))];
    const { rows } = await transaction.query({ name: 'lock_accounts', text: lockAccounts, values });
    for (const row of rows) {
      const funds = {
        balance: row.balance_nano_credits,
        held: row.held_nano_credits,
        policyVersion: row.policy_version,
      };
      this.#funds.set(accountIdOf(row.id), { before: funds, now: { ...funds } });
    }
  }

  async #readCounts(transaction: Transaction, counts: readonly Count[]): Promise<void> {
    const owners = new Set(counts.map(({ owner }) => owner));
    const periods = new Set(counts.map(({ period }) => period));
    const values = [textArray([...owners]), textArray([...periods])];
    const { rows } = await transaction.query({ name: 'read_limit_counts', text: readCounts, values });
    for (const { owner, unit, period, used, reserved } of rows) {
      const count = { owner, unit, period };
      this.#counts.set(nameOf(count), { count, before: { used, reserved }, now: { used, reserved } });
    }
  }

  async #readRates(transaction: Transaction, owners: readonly string[]): Promise<void> {
    const values = [textArray(owners)];
    const { rows } = await transaction.query({ name: 'read_rates', text: readRates, values });
    for (const { owner, minute, requests, tokens, running, now_ms: nowMs } of rows) {
      const meter = new Meter();
      meter.minute = Number(minute);
      meter.requests = Number(requests);
      meter.tokens = Number(tokens);
      meter.running = Number(running);
      // The clock of the database gives all nodes the same minute.
      meter.moveTo(Number(nowMs));
      this.#meters.set(owner, meter);
    }
  }

  async #readRecords(transaction: Transaction, ids: readonly RequestId[]): Promise<void> {
    const values = [plainArray(ids.map(toUuid))];
    const { rows } = await transaction.query({ name: 'read_records', text: readRecords, values });
    for (const row of rows) {
      const accountId = accountIdOf(row.account_id);
      this.#records.set(fromUuid('usage_records', row.id) as RequestId, {
        state: row.state,
        reserved: {
          accountId,
          hold: row.price_input === null ? undefined : row.hold_nano_credits,
          counted: countedOf(row.counted),
          rateUses: rateUsesFromText(row.rate_uses),
        },
        cost: row.cost_nano_credits ?? undefined,
        overrun: row.overrun_nano_credits ?? undefined,
      });
    }
  }

  async #readEntries(transaction: Transaction, entries: readonly LedgerEntry[]): Promise<void> {
    const values = [
      plainArray(entries.map(({ accountId }) => toUuid(accountId))),
      textArray(entries.map(({ reference }) => reference)),
    ];
    const { rows } = await transaction.query({ name: 'read_entries', text: readEntries, values });
    for (const row of rows) {
      this.addEntry({
        id: fromUuid('ledger_entries', row.id) as LedgerEntryId,
        accountId: accountIdOf(row.account_id),
        kind: row.kind,
        amount: row.amount_nano_credits as NanoCredits,
        reason: row.reason,
        reference: row.reference,
        createdAtMs: Number(row.created_at_ms),
      });
    }
  }
}

/**
 * Reads and locks the rows for the decisions of operations.
 * @param epoch of this node; undefined if no operation writes a request
 * @param isRepeated whether an earlier attempt may have been committed
 * @throws FencedError
 */
export async function readSet(
  transaction: Transaction,
  wanted: readonly Wanted[],
  { epoch, isRepeated }: { readonly epoch: bigint | undefined; readonly isRepeated: boolean },
): Promise<ReadSet> {
  const fenced = epoch === undefined ? [] : [passFence(transaction, epoch)];
  const rows = new ReadSet();
  await Promise.all([...fenced, ...rows.read(transaction, wanted, isRepeated)]);
  return rows;
}

async function passFence(transaction: Transaction, epoch: bigint): Promise<void> {
  const { rowCount } = await transaction.query({ name: 'fence', text: fence, values: [epoch] });
  if (rowCount !== 1) throw new FencedError(epoch);
}

function accountIdOf(uuid: string): AccountId {
  return fromUuid('accounts', uuid) as AccountId;
}

function nameOf({ owner, unit, period }: Count): string {
  return `${owner} ${unit} ${period}`;
}

function referenceOf({ accountId, reference }: Pick<LedgerEntry, 'accountId' | 'reference'>): string {
  return `${accountId} ${reference}`;
}

/** The rate uses of a running request, as text in its started record. */
export function rateUsesToText(uses: readonly RateUse[]): string | null {
  return uses.length > 0 ? JSON.stringify(uses) : null;
}

export function rateUsesFromText(text: string | null): readonly RateUse[] {
  return text === null ? [] : (JSON.parse(text) as readonly RateUse[]);
}
