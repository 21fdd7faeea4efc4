import type { KeyHolder } from '../../core/ports/keys.ts';
import type { Accounts } from '../tables/accounts.ts';
import type { Keys } from '../tables/keys.ts';
import type { Connection } from './database.ts';

/** So many keys take about 10 MB. */
const holdersMax = 10_000;

/**
 * Who holds each key, kept in memory: every request asks for it, and next to nothing changes it. All is forgotten with each
 * change by an administrator, and when another program has written to the database. What depends on the time, such as the
 * end of a key or of a plan, is a fact here and judged by whoever asks.
 */
export class KeyCache {
  readonly #keys: Keys;
  readonly #accounts: Accounts;
  readonly #dataVersion;
  readonly #holders = new Map<string, KeyHolder>();
  #knownVersion: unknown;
  #hasLooked = false;

  constructor(connection: Connection, keys: Keys, accounts: Accounts) {
    this.#keys = keys;
    this.#accounts = accounts;
    this.#dataVersion = connection.prepare('pragma data_version').pluck();
  }

  find(hash: string): KeyHolder | undefined {
    this.#lookForForeignWrites();
    const known = this.#holders.get(hash);
    if (known) return known;
    const key = this.#keys.byHash(hash);
    if (key === undefined) return undefined;
    const holder = { key, account: key.accountId && this.#accounts.factsById(key.accountId) };
    if (this.#holders.size >= holdersMax) this.#holders.clear();
    this.#holders.set(hash, holder);
    return holder;
  }

  /** To be called in the transaction of whatever changes a key, an account's name or a subscription. */
  forgetAll(): void {
    this.#holders.clear();
  }

  /** Nothing but Parley writes to its database, yet who does must be believed at once. The requests of a turn share a look. */
  #lookForForeignWrites(): void {
    if (this.#hasLooked) return;
    this.#hasLooked = true;
    setImmediate(() => {
      this.#hasLooked = false;
    });
    const version = this.#dataVersion.get();
    if (version !== this.#knownVersion) this.#holders.clear();
    this.#knownVersion = version;
  }
}
