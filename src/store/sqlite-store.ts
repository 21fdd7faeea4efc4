import type { Period } from '../core/entitlement.ts';
import { ParleyError } from '../core/errors.ts';
import type { Month } from '../core/fair-use.ts';
import type { AccountId, KeyId, RequestId } from '../core/ids.ts';
import type {
  Account,
  FairUseReservation,
  Key,
  KeyHolder,
  LedgerLoad,
  Page,
  PageRequest,
  RecordEnd,
  RecordStart,
  Store,
  UsageRecord,
} from '../core/ports/store.ts';
import { Accounts } from './accounts.ts';
import { type Connection, openDatabase } from './database.ts';
import { FairUse } from './fair-use.ts';
import { GroupCommit } from './group-commit.ts';
import { Keys } from './keys.ts';
import { UsageRecords } from './usage.ts';

/** Opens the store of a data folder, which is made where it is missing. */
export async function openStore(dataDir: string): Promise<Store> {
  return new SqliteStore(await openDatabase(dataDir));
}

class SqliteStore implements Store {
  readonly #connection: Connection;
  readonly #writes: GroupCommit;
  readonly #accounts: Accounts;
  readonly #keys: Keys;
  readonly #usage: UsageRecords;
  readonly #fairUse: FairUse;

  constructor(connection: Connection) {
    this.#connection = connection;
    this.#writes = new GroupCommit(connection);
    this.#accounts = new Accounts(connection);
    this.#keys = new Keys(connection);
    this.#usage = new UsageRecords(connection);
    this.#fairUse = new FairUse(connection);
  }

  async findKey(hash: string): Promise<KeyHolder | undefined> {
    const key = this.#keys.byHash(hash);
    if (key === undefined) return undefined;
    return { key, account: key.accountId && this.#accounts.byId(key.accountId) };
  }

  admit(record: RecordStart, reservation: FairUseReservation | undefined): Promise<boolean> {
    return this.#writes.run(() => {
      if (reservation && !this.#reserve(record.accountId, reservation, reservation.units)) return false;
      this.#usage.insertStarted(record, reservation);
      return true;
    });
  }

  extend(id: RequestId, reservation: FairUseReservation): Promise<boolean> {
    return this.#writes.run(() => {
      const { accountId, units } = this.#started(id);
      if (!this.#reserve(accountId, reservation, reservation.units - units)) return false;
      this.#usage.setAside(id, reservation);
      return true;
    });
  }

  finish(id: RequestId, end: RecordEnd): Promise<void> {
    return this.#writes.run(() => {
      const { accountId, month, units } = this.#started(id);
      if (month) this.#fairUse.release({ accountId, month }, units, end.fairUseUnits ?? 0);
      this.#usage.finish(id, end);
    });
  }

  record(start: RecordStart, end: RecordEnd): Promise<void> {
    return this.#writes.run(() => this.#usage.insertEnded(start, end));
  }

  async fairUseUnits(accountId: AccountId, month: Month): Promise<number> {
    return this.#fairUse.units({ accountId, month });
  }

  async listRecords(
    accountId: AccountId | undefined,
    page: PageRequest,
  ): Promise<Page<UsageRecord, RequestId>> {
    return pageOf(page, (request) => this.#usage.list(accountId, request));
  }

  createAccount(account: Pick<Account, 'id' | 'name' | 'createdAtMs'>): Promise<boolean> {
    return this.#writes.run(() => this.#accounts.insert(account));
  }

  async findAccount(idOrName: string): Promise<Account | undefined> {
    return this.#accounts.byId(idOrName) ?? this.#accounts.byName(idOrName);
  }

  async listAccounts(page: PageRequest): Promise<Page<Account, AccountId>> {
    return pageOf(page, (request) => this.#accounts.list(request));
  }

  startTrial(accountId: AccountId, period: Period): Promise<boolean> {
    return this.#writes.run(() => this.#accounts.startTrial(accountId, period));
  }

  loadCredits(load: LedgerLoad): Promise<boolean> {
    return this.#writes.run(() => this.#accounts.load(load));
  }

  createKey(key: Key): Promise<void> {
    return this.#writes.run(() => this.#keys.insert(key));
  }

  async findKeyById(id: string): Promise<Key | undefined> {
    return this.#keys.byId(id);
  }

  async listKeys(accountId: AccountId): Promise<readonly Key[]> {
    return this.#keys.ofAccount(accountId);
  }

  rotateKey(old: KeyId, oldExpiresAtMs: number, replacement: Key): Promise<void> {
    return this.#writes.run(() => {
      this.#keys.insert(replacement);
      this.#keys.expire(old, oldExpiresAtMs);
    });
  }

  revokeKey(id: KeyId, revokedAtMs: number): Promise<void> {
    return this.#writes.run(() => this.#keys.revoke(id, revokedAtMs));
  }

  async isEmpty(): Promise<boolean> {
    return !this.#accounts.hasAny() && !this.#keys.hasAny();
  }

  async close(): Promise<void> {
    this.#writes.flush();
    this.#connection.close();
  }

  #reserve(accountId: AccountId, { month, limitUnits }: FairUseReservation, units: number): boolean {
    return this.#fairUse.reserve({ accountId, month }, units, limitUnits);
  }

  #started(id: RequestId) {
    const started = this.#usage.started(id);
    if (started) return started;
    throw new ParleyError('internal_error', { cause: new Error(`request ${id} is not running`) });
  }
}

/** Reads one more than the page holds, to know whether another follows. */
function pageOf<T extends { readonly id: Id }, Id extends string>(
  page: PageRequest,
  read: (request: PageRequest) => T[],
): Page<T, Id> {
  const rows = read({ ...page, size: page.size + 1 });
  const items = rows.slice(0, page.size);
  return { items, nextAfter: rows.length > page.size ? items.at(-1)?.id : undefined };
}
