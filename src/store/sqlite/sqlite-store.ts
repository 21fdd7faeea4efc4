import type { Period } from '../../core/access/entitlement.ts';
import type { Month } from '../../core/billing/fair-use.ts';
import { type NanoCredits, nanoCredits } from '../../core/billing/money.ts';
import type { AccountId, AuditId, KeyId, LedgerEntryId, RequestId } from '../../core/ids.ts';
import type { Account } from '../../core/ports/accounts.ts';
import type { AuditEntry } from '../../core/ports/audit.ts';
import type { ClaimEnd, ClaimOutcome, IdempotencyClaim } from '../../core/ports/idempotency.ts';
import type { Key, KeyEnd, KeyHolder } from '../../core/ports/keys.ts';
import type { EntryOutcome, LedgerEntry } from '../../core/ports/ledger.ts';
import type { Page, PageRequest } from '../../core/ports/page.ts';
import type { FairUseReservation, Reservation, ReserveOutcome } from '../../core/ports/reservations.ts';
import type { Store } from '../../core/ports/store.ts';
import type {
  Prunable,
  PruneCut,
  Pruned,
  RecordEnd,
  RecordFilter,
  RecordStart,
  TotalsQuery,
  UsageRecord,
  UsageTotal,
} from '../../core/ports/usage.ts';
import { countPrunable, Pruning } from '../maintenance/prune.ts';
import { Accounts, endSubscription, insertAccount, setPlan, startTrial } from '../tables/accounts.ts';
import { insertAudit, listAudit } from '../tables/audit.ts';
import { claimKey, claimOutcome } from '../tables/idempotency-records.ts';
import { endKey, insertKey, Keys, revokeKey } from '../tables/keys.ts';
import { Ledger } from '../tables/ledger.ts';
import { listRecords } from '../usage/records.ts';
import { readTotals } from '../usage/totals.ts';
import type { Connection } from './connection.ts';
import { Entries } from './entries.ts';
import { KeyCache } from './key-cache.ts';
import { pageOf } from './page-of.ts';
import { Reader } from './reader.ts';
import { Credits } from './requests/credits.ts';
import { Requests } from './requests/requests.ts';
import type { WriteHealth } from './write-health.ts';
import { hasChanged, type Step } from './writer/job.ts';
import type { Writer } from './writer/writer.ts';

export interface SqliteStoreDeps {
  /** Only reads. The writer has a connection of its own. */
  readonly connection: Connection;
  readonly writer: Writer;
  readonly health: WriteHealth;
  /** Releases everything but the connection. */
  readonly close: () => Promise<void>;
}

/** Every operation of the store, on one SQLite database. */
export class SqliteStore implements Store {
  readonly #deps: SqliteStoreDeps;
  readonly #reader: Reader;
  readonly #accounts: Accounts;
  readonly #keys: Keys;
  readonly #keyCache: KeyCache;
  readonly #ledger: Ledger;
  readonly #credits: Credits;
  readonly #entries: Entries;
  readonly #requests: Requests;
  readonly #pruning: Pruning;

  constructor(deps: SqliteStoreDeps) {
    const { connection, writer, health } = deps;
    const reader = new Reader(connection);
    this.#deps = deps;
    this.#reader = reader;
    this.#accounts = new Accounts(reader);
    this.#keys = new Keys(reader);
    this.#keyCache = new KeyCache(reader, this.#keys, this.#accounts);
    this.#ledger = new Ledger(reader);
    this.#credits = new Credits((id) => this.#accounts.balance(id) ?? 0n);
    this.#entries = new Entries({ ledger: this.#ledger, credits: this.#credits, writer });
    this.#requests = new Requests({ reader, writer, health, credits: this.#credits });
    this.#pruning = new Pruning(reader, writer);
  }

  async findKey(hash: string): Promise<KeyHolder | undefined> {
    return this.#keyCache.find(hash);
  }

  reserve(record: RecordStart, reservation: Reservation): Promise<ReserveOutcome> {
    return this.#requests.reserve(record, reservation);
  }

  recordStarted(id: RequestId): Promise<void> {
    return this.#requests.recordStarted(id);
  }

  extend(id: RequestId, reservation: FairUseReservation): Promise<boolean> {
    return this.#requests.extend(id, reservation);
  }

  settle(id: RequestId, end: RecordEnd, claim?: ClaimEnd): Promise<RecordEnd> {
    return this.#requests.settle(id, end, claim);
  }

  record(start: RecordStart, end: RecordEnd, claim?: ClaimEnd): Promise<void> {
    return this.#requests.record(start, end, claim);
  }

  recover(nowMs: number): Promise<number> {
    return this.#requests.recover(nowMs);
  }

  fairUseUnits(accountId: AccountId, month: Month): Promise<number> {
    return this.#requests.fairUseUnits(accountId, month);
  }

  async listRecords(filter: RecordFilter, page: PageRequest): Promise<Page<UsageRecord, RequestId>> {
    return pageOf(page, (request) => listRecords(this.#reader, filter, request));
  }

  usageTotals(query: TotalsQuery): Promise<readonly UsageTotal[] | 'too_many'> {
    return readTotals(this.#deps.connection.name, query);
  }

  countPrunable(cut: PruneCut): Promise<Prunable> {
    return countPrunable(this.#deps.connection.name, cut);
  }

  prune(cut: PruneCut, recordsMax: number, audit: AuditEntry): Promise<Pruned> {
    return this.#pruning.prune(cut, recordsMax, audit);
  }

  async claimAnswer(claim: IdempotencyClaim): Promise<ClaimOutcome> {
    return claimOutcome(claim, await this.#deps.writer.run({ steps: claimKey(claim) }));
  }

  createAccount(account: Pick<Account, 'id' | 'name' | 'createdAtMs'>, audit: AuditEntry): Promise<boolean> {
    return this.#change([insertAccount(account)], audit);
  }

  async availableCredits(accountId: AccountId): Promise<NanoCredits> {
    const known = this.#credits.of(accountId);
    if (known) return nanoCredits(known.balance - known.held);
    return nanoCredits(this.#accounts.balance(accountId) ?? 0n);
  }

  async findAccount(idOrName: string): Promise<Account | undefined> {
    const account = this.#accounts.byId(idOrName) ?? this.#accounts.byName(idOrName);
    return account && this.#withCredits(account);
  }

  async listAccounts(page: PageRequest): Promise<Page<Account, AccountId>> {
    return pageOf(page, (request) =>
      this.#accounts.list(request).map((account) => this.#withCredits(account)),
    );
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

  enter(entry: LedgerEntry, audit: AuditEntry): Promise<EntryOutcome> {
    return this.#entries.enter(entry, audit);
  }

  async listEntries(accountId: AccountId, page: PageRequest): Promise<Page<LedgerEntry, LedgerEntryId>> {
    return pageOf(page, (request) => this.#ledger.list(accountId, request));
  }

  async createKey(key: Key, audit: AuditEntry): Promise<void> {
    await this.#change([insertKey(key)], audit);
  }

  async findKeyById(id: string): Promise<Key | undefined> {
    return this.#keys.byId(id);
  }

  async listKeys(accountId: AccountId | undefined): Promise<readonly Key[]> {
    return this.#keys.list(accountId);
  }

  async rotateKey(old: KeyId, end: KeyEnd, replacement: Key, audit: AuditEntry): Promise<void> {
    await this.#change([insertKey(replacement), endKey(old, end)], audit);
  }

  async revokeKey(id: KeyId, revokedAtMs: number, audit: AuditEntry): Promise<void> {
    await this.#change([revokeKey(id, revokedAtMs)], audit);
  }

  async listAudit(page: PageRequest): Promise<Page<AuditEntry, AuditId>> {
    return pageOf(page, (request) => listAudit(this.#reader, request));
  }

  async isEmpty(): Promise<boolean> {
    return !this.#accounts.hasAny() && !this.#keys.hasAny();
  }

  async close(): Promise<void> {
    this.#requests.close();
    await this.#deps.close();
  }

  /** Writes a change and its audit entry, both or neither. False if the first step stopped the job. */
  async #change(steps: readonly Step[], audit: AuditEntry): Promise<boolean> {
    const result = await this.#deps.writer.run({ steps: [...steps, insertAudit(audit)] });
    this.#keyCache.expire();
    return hasChanged(result);
  }

  #withCredits(account: Account): Account {
    return { ...account, ...this.#credits.of(account.id) };
  }
}
