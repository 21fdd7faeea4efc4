/** Keys, as administrators and the holders of keys with the scope `manage` issue, limit and end them. */
import { type Timestamp, timestampMs } from '@bufbuild/protobuf/wkt';
import type { Key as KeyMessage } from '../../../gen/parley/admin/v1/admin_pb.ts';
import { type AuditEntry, auditEntry } from '../entities/audit.ts';
import type { Key } from '../entities/key.ts';
import type { Limits } from '../entities/limits.ts';
import type { Store } from '../entities/store.ts';
import { countsOf, describeCount } from '../limits/messages.ts';
import type { Clock } from '../values/clock.ts';
import { ParleyError } from '../values/errors.ts';
import { newKeyId } from '../values/ids.ts';
import { hashKey, newKeySecret } from '../values/key-secret.ts';
import { invalid, nextPage, type PageFields, readPage } from '../values/parameters.ts';
import { quote } from '../values/quote.ts';
import * as check from './checks.ts';
import { describeKey } from './views.ts';

export interface KeysDeps {
  readonly store: Store;
  readonly clock: Clock;
  /** The time by which keys and subscriptions end. */
  readonly accessClock: Clock;
  /** Keys of an account that may be live at once. */
  readonly keysPerAccountMax: number;
}

/** A key and its secret, which is shown once. */
interface IssuedKey {
  readonly key: KeyMessage;
  readonly secret: string;
}

interface KeysPage {
  readonly keys: KeyMessage[];
  readonly nextPageToken?: string;
}

type NewKey = Pick<Key, 'kind' | 'accountId' | 'name' | 'scopes' | 'expiresAtMs' | 'limits'>;

/** Who makes a change. */
interface By {
  readonly actor: string;
}

export class IssuedKeys {
  readonly #deps: KeysDeps;

  constructor(deps: KeysDeps) {
    this.#deps = deps;
  }

  /** @throws `too_many_keys` */
  async create(facts: NewKey, by: By): Promise<IssuedKey> {
    const issued = this.#issue(facts);
    const { key } = issued;
    const details = { name: key.name, scopes: key.scopes, account: key.accountId ?? '' };
    const { store, keysPerAccountMax } = this.#deps;
    const audit = this.#audit(by, 'key.create', key, details);
    if (!(await store.createKey(key, audit, keysPerAccountMax))) throw tooManyKeys(keysPerAccountMax);
    return this.#describeIssued(issued);
  }

  /** @throws `invalid_parameter` for a key that has ended, `too_many_keys` if it works on beside too many others */
  async rotate(old: Key, overlapSeconds: number | undefined, by: By): Promise<IssuedKey> {
    const nowMs = this.#now();
    const lastsUntilMs = old.expiresAtMs ?? Infinity;
    if (old.revokedAtMs !== undefined || lastsUntilMs <= nowMs) {
      throw keyEnded();
    }
    const overlapMs = check.checkOverlap(overlapSeconds) * 1000;
    const end =
      overlapMs === 0 ? { revokedAtMs: nowMs } : { expiresAtMs: Math.min(nowMs + overlapMs, lastsUntilMs) };
    const issued = this.#issue(old, old.originId);
    const audit = this.#audit(by, 'key.rotate', old, { replacement: issued.key.id });
    const { store, keysPerAccountMax } = this.#deps;
    if (!(await store.rotateKey(old.id, end, issued.key, audit, keysPerAccountMax))) {
      throw overlapMs === 0 ? keyEnded() : tooManyKeys(keysPerAccountMax);
    }
    return this.#describeIssued(issued);
  }

  async revoke(key: Key, by: By): Promise<KeyMessage> {
    const revokedAtMs = key.revokedAtMs ?? this.#now();
    await this.#deps.store.revokeKey(key.id, revokedAtMs, this.#audit(by, 'key.revoke', key, {}));
    return this.describe({ ...key, revokedAtMs });
  }

  async setLimits(key: Key, limits: Limits | undefined, by: By): Promise<KeyMessage> {
    if (key.kind === 'admin') throw invalid('key_id', 'An admin key has no limits.');
    const audit = this.#audit(by, 'key.limits', key, { limits: limitNames(limits) });
    await this.#deps.store.setKeyLimits(key.id, limits, audit);
    return this.describe({ ...key, limits });
  }

  /** @throws `not_found` */
  async find(id: string): Promise<Key> {
    const key = await this.#deps.store.findKeyById(id);
    if (key !== undefined) return key;
    throw noSuchKey(id);
  }

  /** @param accountId undefined: the admin keys */
  async list(accountId: Key['accountId'], request: PageFields): Promise<KeysPage> {
    const page = await this.#deps.store.listKeys(accountId, readPage(request));
    return { keys: page.items.map(await this.#describer(page.items)), ...nextPage(page) };
  }

  /** A key without its secret, with what is used of its limits. */
  async describe(key: Key): Promise<KeyMessage> {
    const describe = await this.#describer([key]);
    return describe(key);
  }

  /** Reads the counts of all these keys at once. */
  async #describer(keys: readonly Key[]): Promise<(key: Key) => KeyMessage> {
    const nowMs = this.#deps.clock.now();
    const counts = new Map(keys.map((key) => [key, countsOf(key.originId, key.limits, nowMs)]));
    const all = [...counts.values()].flat();
    const amounts = all.length === 0 ? [] : await this.#deps.store.taken(all);
    const taken = new Map(all.map((count, at) => [count, amounts[at]]));
    return (key) => {
      const own = counts.get(key) ?? [];
      return describeKey(
        key,
        own.map((count) => describeCount(count, taken.get(count) ?? 0n, nowMs)),
      );
    };
  }

  /** @throws `invalid_parameter` for a time that is over */
  future(param: string, time: Timestamp | undefined): number | undefined {
    return check.checkFuture(param, time && timestampMs(time), this.#now());
  }

  #issue(facts: NewKey, originId?: Key['originId']): { readonly key: Key; readonly secret: string } {
    const { kind, accountId, name, scopes, expiresAtMs, limits } = facts;
    const secret = newKeySecret(kind);
    const nowMs = this.#now();
    const id = newKeyId(nowMs);
    const key: Key = {
      ...{ id, originId: originId ?? id, kind, accountId, name, scopes, expiresAtMs, limits },
      hash: hashKey(secret),
      lastFour: secret.slice(-4),
      createdAtMs: nowMs,
      revokedAtMs: undefined,
    };
    return { key, secret };
  }

  async #describeIssued({ key, secret }: { readonly key: Key; readonly secret: string }): Promise<IssuedKey> {
    return { key: await this.describe(key), secret };
  }

  #audit(by: By, action: string, { id: target }: Key, details: AuditEntry['details']): AuditEntry {
    return auditEntry(this.#now(), by, { action, target, details });
  }

  #now(): number {
    return this.#deps.accessClock.now();
  }
}

function keyEnded(): ParleyError {
  return invalid('key_id', 'The key is revoked or has expired. Create a new one.');
}

function tooManyKeys(liveMax: number): ParleyError {
  return new ParleyError('too_many_keys', {
    message: `The account has ${liveMax} keys that work, the most it may have. Revoke one first.`,
  });
}

export function noSuchKey(id: string): ParleyError {
  return new ParleyError('not_found', {
    message: `There is no such key: ${quote(id)}. List the account's keys to see their ids.`,
    param: 'key_id',
  });
}

/** The limits that are set, for the audit trail. */
export function limitNames(limits: Limits = {}): string {
  return Object.keys(limits).join(' ');
}
