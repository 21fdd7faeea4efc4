import type { KeyHolder } from '../../core/ports/keys.ts';
import type { Accounts } from '../tables/accounts.ts';
import type { Keys } from '../tables/keys.ts';
import type { Connection } from './database.ts';

/** This many keys take about 10 MB. */
const holdersMax = 10_000;

/**
 * Keys with their accounts, in memory: every request reads one, and they rarely change. Each change by an administrator, and
 * each write of another program, clears the cache. Callers check expiry themselves.
 */
export class KeyCache {
  readonly #keys: Keys;
  readonly #accounts: Accounts;
  readonly #dataVersion;
  readonly #holders = new Map<string, KeyHolder>();
  #knownVersion: unknown;
  #hasChecked = false;

  constructor(connection: Connection, keys: Keys, accounts: Accounts) {
    this.#keys = keys;
    this.#accounts = accounts;
    this.#dataVersion = connection.prepare('pragma data_version').pluck();
  }

  find(hash: string): KeyHolder | undefined {
    this.#checkForOtherWriters();
    const known = this.#holders.get(hash);
    if (known) return known;
    const key = this.#keys.byHash(hash);
    if (key === undefined) return undefined;
    const holder = { key, account: key.accountId && this.#accounts.factsById(key.accountId) };
    if (this.#holders.size >= holdersMax) this.#holders.clear();
    this.#holders.set(hash, holder);
    return holder;
  }

  /** Call this in every transaction that changes a key, the name of an account or a subscription. */
  clear(): void {
    this.#holders.clear();
  }

  /** Other programs may write to the database: their changes count at once. Checks once for all requests of a turn. */
  #checkForOtherWriters(): void {
    if (this.#hasChecked) return;
    this.#hasChecked = true;
    setImmediate(() => {
      this.#hasChecked = false;
    });
    const version = this.#dataVersion.get();
    if (version !== this.#knownVersion) this.#holders.clear();
    this.#knownVersion = version;
  }
}
