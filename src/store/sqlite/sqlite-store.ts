import type { Period } from '../../core/access/entitlement.ts';
import type { Month } from '../../core/billing/fair-use.ts';
import { type NanoCredits, nanoCredits } from '../../core/billing/money.ts';
import { ParleyError } from '../../core/errors.ts';
import type { AccountId, AuditId, KeyId, LedgerEntryId, RequestId } from '../../core/ids.ts';
import type { Account } from '../../core/ports/accounts.ts';
import type { AuditEntry } from '../../core/ports/audit.ts';
import type { ClaimEnd, ClaimOutcome, IdempotencyClaim } from '../../core/ports/idempotency.ts';
import type { Key, KeyEnd, KeyHolder } from '../../core/ports/keys.ts';
import type { EntryOutcome, LedgerEntry } from '../../core/ports/ledger.ts';
import type { Page, PageRequest } from '../../core/ports/page.ts';
import type { FairUseReservation, Reservation, ReserveOutcome } from '../../core/ports/reservations.ts';
import type { Store, StoreObserver } from '../../core/ports/store.ts';
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
import { Accounts } from '../tables/accounts.ts';
import { AuditTrail } from '../tables/audit.ts';
import { FairUse } from '../tables/fair-use.ts';
import { IdempotencyRecords } from '../tables/idempotency-records.ts';
import { Keys } from '../tables/keys.ts';
import { Ledger } from '../tables/ledger.ts';
import { interruptedEnd, type StartedRecord } from '../usage/record-row.ts';
import { UsageRecords } from '../usage/records.ts';
import { readTotals } from '../usage/totals.ts';
import { OpenFiles, privateFile } from './data-folder.ts';
import { type Connection, type DatabaseUse, databaseName, openDatabase } from './database.ts';
import { GroupCommit } from './group-commit.ts';
import { KeyCache } from './key-cache.ts';
import { disown, setMark } from './ownership.ts';
import { pageOf } from './page-of.ts';
import { DatabaseMovedError, reading } from './storage-failures.ts';
import { WriteHealth } from './write-health.ts';

export interface StoreOptions extends DatabaseUse {
  /** Default: nobody is told. */
  readonly observer?: StoreObserver | undefined;
}

const nobody: StoreObserver = { failing: () => undefined, working: () => undefined };

/** Opens the store of a data folder, and creates it if it is missing. @throws as `openDatabase` */
export async function openStore(
  dataDir: string,
  { observer = nobody, ...use }: StoreOptions = {},
): Promise<Store> {
  const path = privateFile(dataDir, databaseName);
  const files = new OpenFiles();
  files.add(path);
  const connection = await openDatabase(dataDir, use);
  files.add(`${path}-wal`);
  if (files.areInPlace()) return new SqliteStore(connection, files, observer, use.as !== 'guest');
  // A restore was quicker.
  connection.close();
  throw new DatabaseMovedError();
}

class SqliteStore implements Store {
  readonly #connection: Connection;
  readonly #isOwner: boolean;
  readonly #writes: GroupCommit;
  readonly #health: WriteHealth;
  readonly #accounts: Accounts;
  readonly #keys: Keys;
  readonly #keyCache: KeyCache;
  readonly #usage: UsageRecords;
  readonly #fairUse: FairUse;
  readonly #ledger: Ledger;
  readonly #idempotency: IdempotencyRecords;
  readonly #audit: AuditTrail;
  readonly #pruning: Pruning;

  constructor(connection: Connection, files: OpenFiles, observer: StoreObserver, isOwner: boolean) {
    this.#connection = connection;
    this.#isOwner = isOwner;
    const probe = () => this.#writes.run(() => setMark(connection, 1));
    this.#health = new WriteHealth({ files, observer, probe });
    this.#writes = new GroupCommit(connection, this.#health);
    this.#accounts = new Accounts(connection);
    this.#keys = new Keys(connection);
    this.#keyCache = new KeyCache(connection, this.#keys, this.#accounts);
    this.#usage = new UsageRecords(connection);
    this.#fairUse = new FairUse(connection);
    this.#ledger = new Ledger(connection);
    this.#idempotency = new IdempotencyRecords(connection);
    this.#audit = new AuditTrail(connection);
    this.#pruning = new Pruning(connection, this.#writes, this.#audit);
  }

  async findKey(hash: string): Promise<KeyHolder | undefined> {
    return reading(() => this.#keyCache.find(hash));
  }

  reserve(record: RecordStart, reservation: Reservation): Promise<ReserveOutcome> {
    const { fairUse, hold } = reservation;
    const { accountId } = record;
    return this.#writes.run(() => {
      if (fairUse && !this.#reserveUnits(accountId, fairUse, fairUse.units)) return 'fair_use_limit_reached';
      if (hold && !this.#ledger.hold(accountId, hold.amount)) {
        if (fairUse) this.#fairUse.settle({ accountId, month: fairUse.month }, fairUse.units, 0);
        return 'insufficient_credits';
      }
      this.#usage.insertStarted(record, reservation);
      return 'reserved';
    });
  }

  extend(id: RequestId, reservation: FairUseReservation): Promise<boolean> {
    return this.#writes.run(() => {
      const { accountId, units } = this.#started(id);
      if (!this.#reserveUnits(accountId, reservation, reservation.units - units)) return false;
      this.#usage.extend(id, reservation);
      return true;
    });
  }

  settle(id: RequestId, end: RecordEnd, claim?: ClaimEnd): Promise<RecordEnd> {
    return this.#writes.run(() => {
      const recorded = this.#settle(this.#started(id), end);
      if (claim) this.#idempotency.end(claim);
      return recorded;
    });
  }

  record(start: RecordStart, end: RecordEnd, claim?: ClaimEnd): Promise<void> {
    return this.#writes.run(() => {
      this.#usage.insertEnded(start, end);
      if (claim) this.#idempotency.end(claim);
    });
  }

  recover(nowMs: number): Promise<number> {
    return this.#writes.run(() => {
      const open = this.#usage.allStarted();
      for (const record of open) this.#settle(record, interruptedEnd(record, nowMs));
      this.#idempotency.dropUnfinished();
      return open.length;
    });
  }

  async fairUseUnits(accountId: AccountId, month: Month): Promise<number> {
    return reading(() => this.#fairUse.units({ accountId, month }));
  }

  async listRecords(filter: RecordFilter, page: PageRequest): Promise<Page<UsageRecord, RequestId>> {
    return reading(() => pageOf(page, (request) => this.#usage.list(filter, request)));
  }

  usageTotals(query: TotalsQuery): Promise<readonly UsageTotal[] | 'too_many'> {
    return readTotals(this.#connection.name, query);
  }

  countPrunable(cut: PruneCut): Promise<Prunable> {
    return countPrunable(this.#connection.name, cut);
  }

  prune(cut: PruneCut, recordsMax: number, audit: AuditEntry): Promise<Pruned> {
    return this.#pruning.prune(cut, recordsMax, audit);
  }

  claimAnswer(claim: IdempotencyClaim): Promise<ClaimOutcome> {
    return this.#writes.run(() => this.#idempotency.claim(claim));
  }

  createAccount(account: Pick<Account, 'id' | 'name' | 'createdAtMs'>, audit: AuditEntry): Promise<boolean> {
    return this.#audited(audit, () => this.#accounts.insert(account));
  }

  async availableCredits(accountId: AccountId): Promise<NanoCredits> {
    return reading(() => this.#accounts.available(accountId));
  }

  async findAccount(idOrName: string): Promise<Account | undefined> {
    return reading(() => this.#accounts.byId(idOrName) ?? this.#accounts.byName(idOrName));
  }

  async listAccounts(page: PageRequest): Promise<Page<Account, AccountId>> {
    return reading(() => pageOf(page, (request) => this.#accounts.list(request)));
  }

  startTrial(accountId: AccountId, period: Period, audit: AuditEntry): Promise<boolean> {
    return this.#audited(audit, () => this.#accounts.startTrial(accountId, period));
  }

  async setPlan(accountId: AccountId, period: Period, audit: AuditEntry): Promise<void> {
    await this.#audited(audit, () => this.#accounts.setPlan(accountId, period));
  }

  async endSubscription(accountId: AccountId, atMs: number, audit: AuditEntry): Promise<void> {
    await this.#audited(audit, () => this.#accounts.endSubscription(accountId, atMs));
  }

  enter(entry: LedgerEntry, audit: AuditEntry): Promise<EntryOutcome> {
    return this.#writes.run((): EntryOutcome => {
      const outcome = this.#ledger.enter(entry);
      if (outcome === 'repeated') return 'entered';
      if (outcome === 'entered') this.#audit.insert(audit);
      return outcome;
    });
  }

  async listEntries(accountId: AccountId, page: PageRequest): Promise<Page<LedgerEntry, LedgerEntryId>> {
    return reading(() => pageOf(page, (request) => this.#ledger.list(accountId, request)));
  }

  async createKey(key: Key, audit: AuditEntry): Promise<void> {
    await this.#audited(audit, () => this.#keys.insert(key));
  }

  async findKeyById(id: string): Promise<Key | undefined> {
    return reading(() => this.#keys.byId(id));
  }

  async listKeys(accountId: AccountId | undefined): Promise<readonly Key[]> {
    return reading(() => this.#keys.list(accountId));
  }

  async rotateKey(old: KeyId, end: KeyEnd, replacement: Key, audit: AuditEntry): Promise<void> {
    await this.#audited(audit, () => {
      this.#keys.insert(replacement);
      if ('revokedAtMs' in end) this.#keys.revoke(old, end.revokedAtMs);
      else this.#keys.expire(old, end.expiresAtMs);
    });
  }

  async revokeKey(id: KeyId, revokedAtMs: number, audit: AuditEntry): Promise<void> {
    await this.#audited(audit, () => this.#keys.revoke(id, revokedAtMs));
  }

  async listAudit(page: PageRequest): Promise<Page<AuditEntry, AuditId>> {
    return reading(() => pageOf(page, (request) => this.#audit.list(request)));
  }

  async isEmpty(): Promise<boolean> {
    return !this.#accounts.hasAny() && !this.#keys.hasAny();
  }

  async close(): Promise<void> {
    this.#health.close();
    await this.#writes.drain();
    // Without the mark the next owner need not be alone. If it cannot be removed, the next one has to be.
    if (this.#isOwner) await this.#writes.run(() => disown(this.#connection)).catch(() => undefined);
    this.#connection.close();
  }

  /** Writes a change and its audit entry, both or neither. A change that returns false has changed nothing. */
  #audited<T>(audit: AuditEntry, change: () => T): Promise<T> {
    return this.#writes.run(() => {
      const changed = change();
      this.#keyCache.clear();
      if (changed !== false) this.#audit.insert(audit);
      return changed;
    });
  }

  #settle(record: StartedRecord, wanted: RecordEnd): RecordEnd {
    const end = { ...wanted, ...this.#charge(record, wanted.cost) };
    const { id, accountId, model = '', startedAtMs, month, units, hold } = record;
    if (month) this.#fairUse.settle({ accountId, month }, units, end.fairUseUnits ?? 0);
    const debit = {
      requestId: id,
      amount: end.cost ?? nanoCredits(0n),
      reason: model,
      atMs: startedAtMs + end.durationMs,
    };
    this.#ledger.settle(accountId, hold, debit);
    this.#usage.settle(id, end);
    return end;
  }

  /** Splits a cost into its debit and its overrun. Runs in the transaction of the debit. */
  #charge({ accountId, hold }: StartedRecord, cost: NanoCredits | undefined) {
    if (cost === undefined || cost <= hold) return { cost, overrun: undefined };
    const most = nanoCredits(hold + this.#accounts.available(accountId));
    if (cost <= most) return { cost, overrun: undefined };
    return { cost: most, overrun: nanoCredits(cost - most) };
  }

  #reserveUnits(accountId: AccountId, { month, limitUnits }: FairUseReservation, units: number): boolean {
    return this.#fairUse.reserve({ accountId, month }, units, limitUnits);
  }

  #started(id: RequestId): StartedRecord {
    const started = this.#usage.started(id);
    if (started) return started;
    throw new ParleyError('internal_error', { cause: new Error(`request ${id} is not running`) });
  }
}
