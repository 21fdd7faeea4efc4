import type { KeyHolder } from '../../core/entities/key.ts';
import { factsById } from '../entities/accounts.ts';
import { keyByHash } from '../entities/keys.ts';
import { query, statement } from '../sql/statement.ts';
import type { Reader } from './database/reader.ts';

/** Number of keys in memory. They take about 10 MB. */
const holdersMax = 10_000;

const policyVersion = statement((_: object) => query.selectFrom('policy').select('version'));

/**
 * How long the version stands without a look. Only `parley key create --admin` writes beside a running server, and a key that is not in
 * memory is read from the database at once.
 */
const versionMsMax = 1_000;

/**
 * Keys with their accounts, in memory: every request reads one, and they rarely change. Each change of a key, the name of an account or a
 * subscription raises the policy version in the same transaction, whoever makes it; then the cache is empty. After a write of this server
 * the next look-up reads the version. Callers check expiry themselves.
 */
export class KeyCache {
  readonly #reader: Reader;
  readonly #holders = new Map<string, KeyHolder>();
  #knownVersion: bigint | undefined;
  #checkedAtMs = Number.NEGATIVE_INFINITY;

  constructor(reader: Reader) {
    this.#reader = reader;
  }

  find(hash: string): KeyHolder | undefined {
    this.#checkVersion();
    const known = this.#holders.get(hash);
    if (known) return known;
    const key = this.#reader.get(keyByHash, { hash });
    if (key === undefined) return undefined;
    const holder = { key, account: key.accountId && this.#reader.get(factsById, { id: key.accountId }) };
    if (this.#holders.size >= holdersMax) this.#holders.clear();
    this.#holders.set(hash, holder);
    return holder;
  }

  /** The next look-up checks the version again. */
  expire(): void {
    this.#checkedAtMs = Number.NEGATIVE_INFINITY;
  }

  #checkVersion(): void {
    const nowMs = performance.now();
    if (nowMs - this.#checkedAtMs < versionMsMax) return;
    const version = this.#reader.get(policyVersion, {})?.version;
    this.#checkedAtMs = nowMs;
    if (version !== this.#knownVersion) this.#holders.clear();
    this.#knownVersion = version;
  }
}
