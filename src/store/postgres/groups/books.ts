import type { AuditEntry } from '../../../core/entities/audit.ts';
import type { Count, CountedAmount } from '../../../core/entities/count.ts';
import type { ClaimEnd } from '../../../core/entities/idempotency.ts';
import type { LedgerEntry } from '../../../core/entities/ledger.ts';
import type { Meter } from '../../../core/entities/rates.ts';
import type { RateUse } from '../../../core/entities/shared-rates.ts';
import type { RecordEnd } from '../../../core/entities/usage.ts';
import type { AccountId, RequestId } from '../../../core/values/ids.ts';
import type { Funds, Units } from '../../decisions.ts';
import type { EndRow, NewRow } from '../../entities/usage-records.ts';
import type { Step } from '../../sql/job.ts';
import type { Counter } from '../../tables/fair-use.ts';

/** A usage record as far as decisions need it. */
export interface StoredRecord extends Pick<RecordEnd, 'cost' | 'overrun'> {
  state: string;
  hold: bigint;
  units: number;
  counted: readonly CountedAmount[] | undefined;
  readonly rateUses: readonly RateUse[];
}

export interface StoredFunds extends Funds {
  readonly policyVersion: bigint;
}

interface Kept<Value> {
  readonly before: Readonly<Value> | undefined;
  readonly now: Value;
}

interface KeptCount extends Kept<Amounts> {
  readonly count: Count;
}

/** Used and reserved amounts. */
export interface Amounts {
  used: bigint;
  reserved: bigint;
}

export interface CountChange extends Count, Amounts {
  /** Whether the count has no row yet. */
  readonly isNew: boolean;
}

interface KeptUnits extends Kept<Units> {
  readonly counter: Counter;
}

export interface FundsChange {
  readonly id: AccountId;
  readonly balance: bigint;
  readonly held: bigint;
}

export interface UnitsChange extends Units {
  readonly counter: Counter;
  /** Whether the counter has no row yet. */
  readonly isNew: boolean;
}

/** The rows of one transaction: read and locked first, changed by decisions in memory, then written together. */
export class Books {
  readonly #funds = new Map<AccountId, Kept<StoredFunds>>();
  readonly #units = new Map<string, KeptUnits>();
  readonly #counts = new Map<string, KeptCount>();
  /** Rates of all nodes. */
  readonly #meters = new Map<string, Meter>();
  readonly #records = new Map<RequestId, StoredRecord>();
  readonly #entries = new Map<string, LedgerEntry>();
  readonly insertedRecords: NewRow[] = [];
  readonly endedRecords: (EndRow & { readonly id: RequestId })[] = [];
  /** The reserved units of running requests. */
  readonly extendedRecords = new Map<RequestId, number>();
  /** Counted amounts of running requests, as text. */
  readonly extendedCounts = new Map<RequestId, string | null>();
  /** Further writes, which no decision depends on. */
  readonly steps: Step[] = [];
  readonly insertedEntries: LedgerEntry[] = [];
  readonly audits: AuditEntry[] = [];
  readonly claimEnds: ClaimEnd[] = [];

  readFunds(id: AccountId, funds: StoredFunds): void {
    this.#funds.set(id, { before: funds, now: { ...funds } });
  }

  readUnits(counter: Counter, units: Units): void {
    this.#units.set(nameOf(counter), { counter, before: units, now: { ...units } });
  }

  readCount(count: Count, amounts: Amounts): void {
    this.#counts.set(nameOfCount(count), { count, before: amounts, now: { ...amounts } });
  }

  /** @param nowMs the time of the database: all nodes have the same minute */
  readMeter(owner: string, meter: Meter, nowMs: number): void {
    meter.moveTo(nowMs);
    this.#meters.set(owner, meter);
  }

  readRecord(id: RequestId, record: StoredRecord): void {
    this.#records.set(id, record);
  }

  readEntry(entry: LedgerEntry): void {
    this.#entries.set(referenceOf(entry), entry);
  }

  /** The credits of an account, to change. @throws if there is no such account */
  funds(id: AccountId): StoredFunds {
    const kept = this.#funds.get(id);
    if (kept === undefined) throw new Error(`there is no account ${id}`);
    return kept.now;
  }

  /** A counter, to change. */
  units(counter: Counter): Units {
    const name = nameOf(counter);
    let kept = this.#units.get(name);
    if (kept === undefined) {
      kept = { counter, before: undefined, now: { used: 0, reserved: 0 } };
      this.#units.set(name, kept);
    }
    return kept.now;
  }

  /** A count, to change. */
  count(count: Count): Amounts {
    const name = nameOfCount(count);
    let kept = this.#counts.get(name);
    if (kept === undefined) {
      kept = { count, before: undefined, now: { used: 0n, reserved: 0n } };
      this.#counts.set(name, kept);
    }
    return kept.now;
  }

  /** The rates of a key or an account, to change. */
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

  insertEntry(entry: LedgerEntry): void {
    if (entry.kind !== 'debit') this.readEntry(entry);
    this.insertedEntries.push(entry);
  }

  fundsChanges(): FundsChange[] {
    return [...this.#funds].flatMap(([id, { before, now }]) => {
      const balance = now.balance - (before?.balance ?? 0n);
      const held = now.held - (before?.held ?? 0n);
      return balance === 0n && held === 0n ? [] : [{ id, balance, held }];
    });
  }

  get meters(): Iterable<readonly [owner: string, meter: Meter]> {
    return this.#meters;
  }

  countChanges(): CountChange[] {
    return [...this.#counts.values()].flatMap(({ count: { owner, unit, period }, before, now }) => {
      const used = now.used - (before?.used ?? 0n);
      const reserved = now.reserved - (before?.reserved ?? 0n);
      const isNew = before === undefined;
      return used === 0n && reserved === 0n ? [] : [{ owner, unit, period, used, reserved, isNew }];
    });
  }

  unitsChanges(): UnitsChange[] {
    return [...this.#units.values()].flatMap(({ counter, before, now }) => {
      const used = now.used - (before?.used ?? 0);
      const reserved = now.reserved - (before?.reserved ?? 0);
      const isNew = before === undefined;
      return used === 0 && reserved === 0 && !isNew ? [] : [{ counter, used, reserved, isNew }];
    });
  }
}

function nameOf({ accountId, month }: Counter): string {
  return `${month} ${accountId}`;
}

function nameOfCount({ owner, unit, period }: Count): string {
  return `${owner} ${unit} ${period}`;
}

function referenceOf({ accountId, reference }: Pick<LedgerEntry, 'accountId' | 'reference'>): string {
  return `${accountId} ${reference}`;
}
