import type { KeyHolder } from '../../core/entities/key.ts';
import { policiesByKeyHashes } from '../entities/accounts.ts';
import { keysByHashes } from '../entities/keys.ts';
import type { Executor } from '../sql/executor.ts';

interface Wanted {
  readonly hash: string;
  readonly resolve: (holder: KeyHolder | undefined) => void;
  readonly reject: (error: unknown) => void;
}

/** Concurrent reads. */
const readsMax = 2;

/** Reads the keys of concurrent requests together: reading them one by one would cost more than the requests. */
export class KeyReads {
  readonly #executor: Executor;
  #waiting: Wanted[] = [];
  #reading = 0;

  constructor(executor: Executor) {
    this.#executor = executor;
  }

  find(hash: string): Promise<KeyHolder | undefined> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ hash, resolve, reject });
      // Runs at the end of this turn, so that all its requests share the read.
      if (this.#waiting.length === 1) setImmediate(() => void this.#readAll());
    });
  }

  async #readAll(): Promise<void> {
    if (this.#reading >= readsMax) return;
    this.#reading++;
    while (this.#waiting.length > 0) {
      const wanted = this.#waiting;
      this.#waiting = [];
      try {
        const holders = await this.#read(wanted.map(({ hash }) => hash));
        for (const { hash, resolve } of wanted) resolve(holders.get(hash));
      } catch (error) {
        for (const { reject } of wanted) reject(error);
      }
    }
    this.#reading--;
  }

  /** The holders by the hashes of their keys. */
  #read(hashes: readonly string[]): Promise<Map<string, KeyHolder>> {
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
