import type { AccountId, LedgerEntryId } from '../values/ids.ts';
import type { NanoCredits } from '../values/money.ts';
import type { Page, PageRequest } from '../values/parameters.ts';
import type { AuditEntry } from './audit.ts';

export interface LedgerEntry {
  readonly id: LedgerEntryId;
  readonly accountId: AccountId;
  readonly kind: 'load' | 'debit' | 'adjustment';
  /** Negative for a debit. */
  readonly amount: NanoCredits;
  readonly reason: string;
  /** Request id for debits, else the idempotency key. */
  readonly reference: string;
  readonly createdAtMs: number;
}

export type EntryOutcome = 'entered' | 'conflict' | 'insufficient_credits' | 'balance_too_large';

/** Entries with times from `fromMs` on, before `untilMs`. */
export interface StatementPeriod {
  readonly fromMs: number;
  readonly untilMs: number;
}

export interface StatementLine {
  readonly kind: LedgerEntry['kind'];
  /** Undefined unless the line has debits of one model. */
  readonly model: string | undefined;
  /** Undefined unless the line has debits of one key. */
  readonly keyId: string | undefined;
  readonly entries: bigint;
  readonly amount: NanoCredits;
}

export interface Statement {
  readonly opening: NanoCredits;
  readonly closing: NanoCredits;
  readonly lines: readonly StatementLine[];
}

export interface LedgerStore {
  /** The balance of an account less its holds. */
  available(accountId: AccountId): Promise<NanoCredits>;
  /**
   * Enters a load or an adjustment. A repeated reference enters nothing: the outcome is `entered` for an equal entry,
   * else `conflict`. An adjustment cannot take the balance below the holds, and no entry can take it over the largest
   * amount.
   */
  enter(entry: LedgerEntry, audit: AuditEntry): Promise<EntryOutcome>;
  /** Newest first. */
  list(accountId: AccountId, page: PageRequest): Promise<Page<LedgerEntry, LedgerEntryId>>;
  /** Sums of one moment. Debits beyond 10,000 models and keys share a line without model and key. */
  statement(accountId: AccountId, period: StatementPeriod): Promise<Statement>;
}
