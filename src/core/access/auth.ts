import { isLive, type KeyHolder } from '../entities/key.ts';
import type { Store } from '../entities/store.ts';
import type { Clock } from '../values/clock.ts';
import { ParleyError } from '../values/errors.ts';
import type { KeyId } from '../values/ids.ts';
import { hashKey, isWellFormedKey } from '../values/key-secret.ts';
import { andThen, type Soon } from '../values/soon.ts';
import { keyFlaw } from './key-flaws.ts';

export interface AuthDeps {
  readonly store: Pick<Store, 'keys'>;
  readonly accessClock: Clock;
  /** The admin key that the server was given at its start, if any. */
  readonly givenAdmin: KeyHolder | undefined;
  readonly knownHeaders: KnownHeaders;
}

/**
 * Finds the holder of a key. Unknown, malformed, revoked and expired keys all get `invalid_api_key`; a malformed key is
 * not looked up.
 * @param authorization the value of the `Authorization` header: `Bearer <key>`
 */
export function authenticate(
  { store, accessClock, givenAdmin, knownHeaders }: AuthDeps,
  authorization = '',
): Soon<KeyHolder> {
  const known = knownHeaders.hashOf(authorization);
  const hash = known ?? hashOfKey(authorization, givenAdmin);
  return andThen(hash === givenAdmin?.key.hash ? givenAdmin : store.keys.find(hash), (holder) => {
    if (holder === undefined || !isLive(holder.key, accessClock.now())) throw wrongKey();
    if (known === undefined) knownHeaders.add(authorization, hash);
    return holder;
  });
}

/** The configured admin key need not have the format of others. */
function hashOfKey(authorization: string, givenAdmin: KeyHolder | undefined): string {
  const secret = /^Bearer\s+(.*)$/is.exec(authorization)?.[1]?.trim();
  const hash = secret && givenAdmin && hashKey(secret);
  if (hash && hash === givenAdmin.key.hash) return hash;
  if (secret === undefined || !isWellFormedKey(secret)) throw refused(authorization, secret);
  return hash || hashKey(secret);
}

/** Describes a flaw that the header itself shows. Reveals nothing about the existing keys. */
function refused(authorization: string, secret: string | undefined): ParleyError {
  const advice = { kind: 'send_key' } as const;
  if (secret === undefined && authorization) {
    return new ParleyError('invalid_api_key', {
      message: 'The `Authorization` header must be `Bearer` and a key.',
      advice,
    });
  }
  if (secret === undefined) return new ParleyError('invalid_api_key');
  const flaw = keyFlaw(secret);
  if (flaw === undefined) return wrongKey();
  return new ParleyError('invalid_api_key', { message: `The API key ${flaw}.`, advice });
}

/** The same for a key that was never made, has expired or was revoked, so that the answer shows nothing about it. */
function wrongKey(): ParleyError {
  return new ParleyError('invalid_api_key', {
    message: 'The API key is unknown, expired or revoked. A valid one is needed.',
    advice: { kind: 'send_key' },
  });
}

/** The holder of an admin key that is not in the store. Audit entries name it by its variable. */
export function givenAdminHolder(secret: string): KeyHolder {
  const facts = { name: 'given at start', scopes: [], createdAtMs: 0, accountId: undefined };
  const ends = { expiresAtMs: undefined, revokedAtMs: undefined };
  const id = 'PARLEY_ADMIN_KEY' as KeyId;
  const key = {
    id,
    kind: 'admin',
    originId: id,
    hash: hashKey(secret),
    lastFour: secret.slice(-4),
    ...facts,
    ...ends,
  } as const;
  return { key, account: undefined };
}

/** Keys have 60 characters, and `Bearer ` before them has 7. */
const headerCharactersMax = 80;
/** These headers take about 3 MB. */
const headersMax = 10_000;

/**
 * The hashes of keys by the `Authorization` headers that carried them, so that a client's next request need not be
 * parsed and hashed again. The store still decides each time whether a key is valid.
 */
export class KnownHeaders {
  readonly #hashes = new Map<string, string>();

  hashOf(authorization: string): string | undefined {
    return this.#hashes.get(authorization);
  }

  /** Call only for valid keys, as others would displace the keys of clients. */
  add(authorization: string, hash: string): void {
    if (authorization.length > headerCharactersMax) return;
    if (this.#hashes.size >= headersMax) this.#hashes.clear();
    this.#hashes.set(authorization, hash);
  }
}
