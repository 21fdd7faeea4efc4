import type { Account, AccountStore } from '../core/entities/account.ts';
import type { AuditEntry, AuditStore } from '../core/entities/audit.ts';
import type { EndedSession, Key, KeyEnd, KeyStore } from '../core/entities/key.ts';
import type { LedgerEntry, LedgerStore } from '../core/entities/ledger.ts';
import type { Limits } from '../core/entities/limits.ts';
import type { Period } from '../core/entities/subscription.ts';
import type {
  Prunable,
  PruneCut,
  Pruned,
  RecordFilter,
  TotalsQuery,
  UsageRecord,
  UsageStore,
  UsageTotal,
} from '../core/entities/usage.ts';
import type { AccountId, AuditId, KeyId, LedgerEntryId, RequestId } from '../core/values/ids.ts';
import type { Page, PageRequest } from '../core/values/page.ts';
import { ColdAlerts } from './cold-alerts.ts';
import {
  accountById,
  accountByName,
  accountsAfter,
  accountsNamed,
  anyAccount,
  containing,
  deleteAccount,
  endSubscription,
  insertAccount,
  renameAccount,
  setAccountLimits,
  setPlan,
  startTrial,
  suspendAccount,
} from './entities/accounts.ts';
import { removeAlertSettings } from './entities/alert-settings.ts';
import { removeAlerts } from './entities/alerts.ts';
import { auditBefore, insertAudit } from './entities/audit.ts';
import { beyondOf, findBeyond, removeAnswersUntil } from './entities/idempotency.ts';
import {
  adminKeys,
  anyKey,
  expireKey,
  insertKey,
  insertKeyWithin,
  keyById,
  keysOfAccount,
  revokeKey,
  revokeKeysOf,
  setKeyLimits,
} from './entities/keys.ts';
import { entriesBefore } from './entities/ledger.ts';
import { countPrunable, Pruning } from './entities/prune.ts';
import { endedSession, endSession } from './entities/sessions.ts';
import { idsBetween, recordsBefore } from './entities/usage.ts';
import { readTotals } from './entities/usage-totals.ts';
import type { Executor } from './sql/executor.ts';
import { hasChanged, type Step } from './sql/job.ts';
import { pageOf } from './sql/page-of.ts';
import { afterAll } from './sql/schema.ts';

/** Operations that no request waits for: written once, for every database. */
export abstract class ColdOperations
  extends ColdAlerts
  implements AccountStore, AuditStore, UsageStore, Omit<KeyStore, 'findKey'>, Pick<LedgerStore, 'listEntries'>
{
  readonly #executor: Executor;

  constructor(executor: Executor) {
    super(executor);
    this.#executor = executor;
  }

  createAccount(account: Pick<Account, 'id' | 'name' | 'createdAtMs'>, audit: AuditEntry): Promise<boolean> {
    return this.#change([insertAccount(account)], audit);
  }

  async findAccount(idOrName: string): Promise<Account | undefined> {
    const account =
      (await this.#executor.get(accountById, { id: idOrName })) ??
      (await this.#executor.get(accountByName, { name: idOrName }));
    return account && this.withCredits(account);
  }

  listAccounts(page: PageRequest, nameContains?: string): Promise<Page<Account, AccountId>> {
    return pageOf(page, async ({ size, after = '' }) => {
      const accounts = await (nameContains === undefined
        ? this.#executor.all(accountsAfter, { after, size })
        : this.#executor.all(accountsNamed, { after, size, pattern: containing(nameContains) }));
      return accounts.map((account) => this.withCredits(account));
    });
  }

  startTrial(accountId: AccountId, period: Period, audit: AuditEntry): Promise<boolean> {
    return this.#change([startTrial(accountId, period)], audit);
  }

  async setPlan(accountId: AccountId, period: Period, audit: AuditEntry): Promise<void> {
    await this.#change([setPlan(accountId, period)], audit);
  }

  async endSubscription(accountId: AccountId, atMs: number, audit: AuditEntry): Promise<void> {
    await this.#change([endSubscription(accountId, atMs)], audit);
  }

  renameAccount(id: AccountId, name: string, audit: AuditEntry): Promise<boolean> {
    return this.#change([renameAccount(id, name)], audit);
  }

  async suspendAccount(id: AccountId, atMs: number | undefined, audit: AuditEntry): Promise<void> {
    await this.#change([suspendAccount(id, atMs)], audit);
  }

  async deleteAccount(id: AccountId, atMs: number, audit: AuditEntry): Promise<void> {
    await this.#change(
      [...deleteAccount(id, atMs), revokeKeysOf(id, atMs), removeAlertSettings(id), ...removeAlerts(id)],
      audit,
    );
  }

  async setAccountLimits(id: AccountId, limits: Limits | undefined, audit: AuditEntry): Promise<void> {
    await this.#change([setAccountLimits(id, limits)], audit);
  }

  listEntries(accountId: AccountId, page: PageRequest): Promise<Page<LedgerEntry, LedgerEntryId>> {
    return pageOf(page, ({ size, after = afterAll }) =>
      this.#executor.all(entriesBefore, { accountId, after, size }),
    );
  }

  createKey(key: Key, audit: AuditEntry, liveMax?: number): Promise<boolean> {
    return this.#addKey(insertKeyWithin(key, liveMax), audit);
  }

  findKeyById(id: string): Promise<Key | undefined> {
    return this.#executor.get(keyById, { id });
  }

  async endSession(session: EndedSession, nowMs: number): Promise<boolean> {
    const [, inserted] = await this.#executor.run({ steps: endSession(session, nowMs) });
    return inserted !== undefined && hasChanged([inserted]);
  }

  async isSessionEnded(session: Omit<EndedSession, 'untilMs'>): Promise<boolean> {
    return (await this.#executor.get(endedSession, session)) !== undefined;
  }

  listKeys(accountId: AccountId | undefined, page: PageRequest): Promise<Page<Key, KeyId>> {
    return pageOf(page, ({ size, after = '' }) =>
      accountId === undefined
        ? this.#executor.all(adminKeys, { after, size })
        : this.#executor.all(keysOfAccount, { accountId, after, size }),
    );
  }

  rotateKey(
    old: KeyId,
    end: KeyEnd,
    replacement: Key,
    audit: AuditEntry,
    liveMax?: number,
  ): Promise<boolean> {
    // One for one: no more are live than before.
    if ('revokedAtMs' in end) {
      return this.#change([revokeKey(old, end.revokedAtMs), insertKey(replacement)], audit);
    }
    const steps = [...insertKeyWithin(replacement, liveMax), expireKey(old, end.expiresAtMs)];
    return this.#addKey(steps, audit);
  }

  async revokeKey(id: KeyId, revokedAtMs: number, audit: AuditEntry): Promise<void> {
    await this.#change([revokeKey(id, revokedAtMs)], audit);
  }

  async setKeyLimits(id: KeyId, limits: Limits | undefined, audit: AuditEntry): Promise<void> {
    await this.#change([setKeyLimits(id, limits)], audit);
  }

  listAudit(page: PageRequest): Promise<Page<AuditEntry, AuditId>> {
    return pageOf(page, ({ size, after = afterAll }) => this.#executor.all(auditBefore, { after, size }));
  }

  listRecords(filter: RecordFilter, page: PageRequest): Promise<Page<UsageRecord, RequestId>> {
    return pageOf(page, ({ size, after }) => {
      const wanted = { ...filter, ...idsBetween(filter.fromMs, filter.untilMs), size, after };
      return this.#executor.all(recordsBefore(wanted), wanted);
    });
  }

  usageTotals(wanted: TotalsQuery): Promise<readonly UsageTotal[] | 'too_many'> {
    return readTotals(this.#executor, wanted);
  }

  countPrunable(cut: PruneCut): Promise<Prunable> {
    return countPrunable(this.#executor, cut);
  }

  prune(cut: PruneCut, recordsMax: number, audit: AuditEntry): Promise<Pruned> {
    return new Pruning(this.#executor).prune(cut, recordsMax, audit);
  }

  async removeOldestAnswers(accountId: AccountId, bytesMax: number): Promise<void> {
    // As a job: with SQLite, reading a whole account's answers must not hold the main thread.
    const lastMs = beyondOf(await this.#executor.run({ steps: [findBeyond(accountId, bytesMax)] }));
    if (lastMs === undefined) return;
    while (hasChanged(await this.#executor.run({ steps: [removeAnswersUntil(accountId, lastMs)] })));
  }

  async isEmpty(): Promise<boolean> {
    const found = (await this.#executor.get(anyAccount, {})) ?? (await this.#executor.get(anyKey, {}));
    return found === undefined;
  }

  /** The account with its balance and holds as this process knows them. */
  protected withCredits(account: Account): Account {
    return account;
  }

  /** Keys, names or subscriptions may have changed. */
  abstract policyChanged(): void;

  /** Writes a key within the limit of its account, as `#change`. */
  async #addKey(steps: readonly Step[], audit: AuditEntry): Promise<boolean> {
    // The first step only locks.
    const [, ...changes] = await this.#executor.run({ steps: [...steps, insertAudit(audit)] });
    this.policyChanged();
    return hasChanged(changes);
  }

  /** Writes a change and its audit entry, both or neither. False if the first step stopped the job. */
  async #change(steps: readonly Step[], audit: AuditEntry): Promise<boolean> {
    const result = await this.#executor.run({ steps: [...steps, insertAudit(audit)] });
    this.policyChanged();
    return hasChanged(result);
  }
}
