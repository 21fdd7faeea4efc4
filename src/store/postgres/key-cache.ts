import type { KeyHolder } from '../../core/entities/key.ts';
import { policiesByKeyHashes } from '../entities/accounts.ts';
import { keysByHashes } from '../entities/keys.ts';
import type { Executor } from '../sql/executor.ts';
import { soon } from './database/patience.ts';

/** Number of keys in memory. They take about 10 MB. */
const holdersMax = 10_000;
/** How long a key may be used without asking the database again, if no notification of a change arrives. */
const lifeMs = 1_000;

interface Known {
  readonly holder: KeyHolder;
  readonly readAtMs: number;
}

interface Wanted {
  readonly hash: string;
  readonly resolve: (holder: KeyHolder | undefined) => void;
  readonly reject: (error: unknown) => void;
}

/** Concurrent reads. */
const readsMax = 2;

/**
 * Keys with their accounts, in memory for a second. Keys of administrators are read each time. The keys of concurrent requests are read
 * together: reading them one by one would cost more than the requests.
 */
export class KeyCache {
  readonly #executor: Executor;
  #known = new Map<string, Known>();
  #waiting: Wanted[] = [];
  #reading = 0;

  constructor(executor: Executor) {
    this.#executor = executor;
  }

  async find(hash: string): Promise<KeyHolder | undefined> {
    const readAtMs = performance.now();
    const known = this.#known.get(hash);
    if (known && readAtMs - known.readAtMs < lifeMs) return known.holder;
    const before = this.#known;
    const holder = await soon(this.#read(hash));
    if (holder?.account === undefined || before !== this.#known) return holder;
    if (before.size >= holdersMax) before.clear();
    before.set(hash, { holder, readAtMs });
    return holder;
  }

  /** Drops all keys. Reads that have begun are not kept. */
  clear(): void {
    this.#known = new Map();
  }

  #read(hash: string): Promise<KeyHolder | undefined> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ hash, resolve, reject });
      // Runs at the end of this turn, so that all its requests share the read.
      if (this.#waiting.length === 1) setImmediate(() => void this.#readWaiting());
    });
  }

  async #readWaiting(): Promise<void> {
    if (this.#reading >= readsMax) return;
    this.#reading++;
    while (this.#waiting.length > 0) {
      const wanted = this.#waiting;
      this.#waiting = [];
      try {
        const holders = await this.#holders(wanted.map(({ hash }) => hash));
        for (const { hash, resolve } of wanted) resolve(holders.get(hash));
      } catch (error) {
        for (const { reject } of wanted) reject(error);
      }
    }
    this.#reading--;
  }

  /** The holders by the hashes of their keys. */
  #holders(hashes: readonly string[]): Promise<Map<string, KeyHolder>> {
    return this.#executor.readSnapshot(async (snapshot) => {
      const [keys, policies] = await Promise.all([
        snapshot.all(keysByHashes, { hashes }),
        snapshot.all(policiesByKeyHashes, { hashes }),
      ]);
      const policyOf = new Map(policies.map((policy) => [policy.account.id, policy]));
      return new Map(
        keys.map((key) => {
          const policy = key.accountId && policyOf.get(key.accountId);
          return [key.hash, { key, account: undefined, ...policy }];
        }),
      );
    });
  }
}
