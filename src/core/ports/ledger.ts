import type { NanoCredits } from '../billing/money.ts';
import type { AccountId, LedgerEntryId } from '../ids.ts';
import type { AuditEntry } from './audit.ts';
import type { Page, PageRequest } from './page.ts';

export interface LedgerEntry {
  readonly id: LedgerEntryId;
  readonly accountId: AccountId;
  readonly kind: 'load' | 'debit' | 'adjustment';
  /** Below zero for what is taken. */
  readonly amount: NanoCredits;
  readonly reason: string;
  /** Of a debit the request's id; of the others the key under which they happen once. */
  readonly reference: string;
  readonly createdAtMs: number;
}

export type EntryOutcome = 'entered' | 'conflict' | 'insufficient_credits' | 'balance_too_large';

/** Credits that an administrator loads or adjusts. */
export interface LedgerStore {
  /** An account's balance less what is held, at this moment. */
  availableCredits(accountId: AccountId): Promise<NanoCredits>;
  /**
   * Enters a load or an adjustment. The same reference with the same facts enters nothing and is well; with others it is a
   * `conflict`. An adjustment cannot take the balance below what is held, and no entry can take it over the largest amount.
   */
  enter(entry: LedgerEntry, audit: AuditEntry): Promise<EntryOutcome>;
  /** Newest first. */
  listEntries(accountId: AccountId, page: PageRequest): Promise<Page<LedgerEntry, LedgerEntryId>>;
}
