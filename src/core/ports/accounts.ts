import type { Period, Subscription } from '../access/entitlement.ts';
import type { NanoCredits } from '../billing/money.ts';
import type { AccountId } from '../ids.ts';
import type { AuditEntry } from './audit.ts';
import type { Page, PageRequest } from './page.ts';

/** What of an account nobody but an administrator changes. */
export interface AccountFacts {
  readonly id: AccountId;
  readonly name: string;
  readonly createdAtMs: number;
  readonly subscription: Subscription;
}

export interface Account extends AccountFacts {
  /** The sum of the account's ledger entries. */
  readonly balance: NanoCredits;
  /** The sum of the holds of its running requests; never more than the balance. */
  readonly held: NanoCredits;
}

/** Accounts and their subscriptions. */
export interface AccountStore {
  /** False where the name is taken. */
  createAccount(account: Pick<Account, 'id' | 'name' | 'createdAtMs'>, audit: AuditEntry): Promise<boolean>;
  findAccount(idOrName: string): Promise<Account | undefined>;
  listAccounts(page: PageRequest): Promise<Page<Account, AccountId>>;
  /** False where the account has had a trial. */
  startTrial(accountId: AccountId, period: Period, audit: AuditEntry): Promise<boolean>;
  /** Sets the account's plan; one that was set before is replaced. */
  setPlan(accountId: AccountId, period: Period, audit: AuditEntry): Promise<void>;
  /** Ends plan and trial at a time, where they would last longer. */
  endSubscription(accountId: AccountId, atMs: number, audit: AuditEntry): Promise<void>;
}
