/** Keys, which administrators and holders of keys with the scope `manage` issue, limit and revoke. */
import { create } from '@bufbuild/protobuf';
import { timestampFromMs } from '@bufbuild/protobuf/wkt';
import type { LimitCount } from '../../../gen/parley/account/v1/limits_pb.ts';
import type { CreateAdminKeyRequest, ListAdminKeysRequest } from '../../../gen/parley/admin/v1/admin_pb.ts';
import type * as pb from '../../../gen/parley/management/v1/management_pb.ts';
import { type Key as KeyMessage, KeySchema } from '../../../gen/parley/management/v1/management_pb.ts';
import { accountToChange, accountToRead, audit, ownKey } from '../access/account-of-call.ts';
import type { AdminCall, AnyCall, Call } from '../access/call.ts';
import { type NewKey, newKey } from '../access/new-key.ts';
import { grantedScopes, isInvitation, isLive, type Key } from '../entities/key.ts';
import { countsOf, describeCount, describeLimits } from '../limits/messages.ts';
import { ParleyError } from '../values/errors.ts';
import { invitationPrefix, keyKinds } from '../values/key-secret.ts';
import type { Page } from '../values/parameters.ts';
import { invalid, nextPage, readPage } from '../values/parameters.ts';
import { quote } from '../values/quote.ts';
import { checkFuture, checkOverlap, checkText } from './checks.ts';
import type { AccountsDeps } from './deps.ts';
import {
  adminScopesWithin,
  limitsWithin,
  refuseLooserLimits,
  refuseRotation,
  refuseWiderAdminKey,
  refuseWiderKey,
  scopesWithin,
} from './key-powers.ts';
import { limitNames } from './views.ts';

export function keyFunctions(deps: AccountsDeps) {
  const { store, accessClock } = deps;
  return {
    /** Open to every key of an account. */
    async getKey(_request: pb.GetKeyRequest, { caller }: Call) {
      return { key: await describeKey(deps, await findKey(deps, caller.keyId)) };
    },

    async listKeys(request: pb.ListKeysRequest, call: AnyCall) {
      const { id } = await accountToRead(deps, request, call);
      return describeKeys(deps, await store.keys.list(id, readPage(request)));
    },

    async createKey(request: pb.CreateKeyRequest, call: AnyCall) {
      const { account, own } = await accountToChange(deps, request, call);
      const name = checkText('name', request.name);
      const powers = {
        scopes: scopesWithin(request.scopes, own),
        expiresAtMs: checkFuture('expires_at', request.expiresAt, accessClock.now()) ?? own?.expiresAtMs,
        limits: limitsWithin(request.limits, own),
      };
      if (own) refuseWiderKey(powers, own);
      return issue(deps, call, { kind: 'account', accountId: account.id, name, ...powers });
    },

    async setKeyLimits(request: pb.SetKeyLimitsRequest, call: AnyCall) {
      const { key, own } = await keyToChange(deps, request.keyId, call);
      const limits = limitsWithin(request.limits, own);
      if (key.kind === 'admin') throw invalid('key_id', 'An admin key has no limits.');
      if (own) refuseLooserLimits(limits, key, own);
      const entry = audit(deps, call, 'key.limits', key.id, { limits: limitNames(limits) });
      await store.keys.setLimits(key.id, limits, entry);
      return { key: await describeKey(deps, { ...key, limits }) };
    },

    async rotateKey(request: pb.RotateKeyRequest, call: AnyCall) {
      const { key, own } = await keyToChange(deps, request.keyId, call);
      if (own) refuseRotation(key, own);
      return rotate(deps, call, key, request.overlapSeconds);
    },

    /** A key may revoke any other key of its account, as nobody gains rights by that. */
    async revokeKey(request: pb.RevokeKeyRequest, call: AnyCall) {
      const { key } = await keyToChange(deps, request.keyId, call);
      const revokedAtMs = key.revokedAtMs ?? accessClock.now();
      await store.keys.revoke(key.id, revokedAtMs, audit(deps, call, 'key.revoke', key.id));
      return { key: await describeKey(deps, { ...key, revokedAtMs }) };
    },
  };
}

export function adminKeyFunctions(deps: AccountsDeps) {
  const { store, accessClock } = deps;
  return {
    async createAdminKey(request: CreateAdminKeyRequest, call: AdminCall) {
      const name = checkText('name', request.name);
      const own = call.scopedKey;
      const powers = {
        scopes: adminScopesWithin(request.scopes, own),
        expiresAtMs: checkFuture('expires_at', request.expiresAt, accessClock.now()) ?? own?.expiresAtMs,
      };
      refuseWiderAdminKey(powers, own);
      return issue(deps, call, { kind: 'admin', accountId: undefined, name, ...powers });
    },

    async listAdminKeys(request: ListAdminKeysRequest) {
      return describeKeys(deps, await store.keys.list(undefined, readPage(request)));
    },
  };
}

/**
 * A key of another account is as unknown as one that does not exist.
 * @throws `not_found`; `insufficient_scope` for an admin key with more rights than the calling one; as `ownKey`
 */
async function keyToChange(deps: AccountsDeps, id: string, call: AnyCall) {
  const own = 'caller' in call ? (await ownKey(deps, call.caller)).own : undefined;
  const key = await findKey(deps, id);
  if (key.kind === 'admin' && !('caller' in call))
    refuseWiderAdminKey({ ...key, scopes: grantedScopes(key) }, call.scopedKey);
  if (own && key.accountId !== own.accountId) throw noSuchKey(id);
  return { key, own };
}

async function findKey({ store }: AccountsDeps, id: string): Promise<Key> {
  const key = await store.keys.findById(id);
  if (key !== undefined) return key;
  throw noSuchKey(id);
}

/** @throws `too_many_keys` */
export async function issue(deps: AccountsDeps, call: AnyCall, facts: NewKey) {
  const { store, keysPerAccountMax } = deps;
  const { key, secret } = newKey(deps.accessClock.now(), facts);
  const details = { name: key.name, scopes: key.scopes, account: key.accountId ?? '' };
  const action = isInvitation(key) ? 'invitation.create' : 'key.create';
  const entry = audit(deps, call, action, key.id, details);
  if (!(await store.keys.create(key, entry, keysPerAccountMax))) throw tooManyKeys(keysPerAccountMax);
  return { key: await describeKey(deps, key), secret };
}

/** @throws `invalid_parameter` for a revoked or expired key, `too_many_keys` if an overlap would exceed the limit */
async function rotate(deps: AccountsDeps, call: AnyCall, old: Key, overlapSeconds: number | undefined) {
  const { store, keysPerAccountMax } = deps;
  const nowMs = deps.accessClock.now();
  if (!isLive(old, nowMs)) throw keyEnded();
  if (isInvitation(old)) throw invalid('key_id', 'This is an invitation. Revoke it and make another one.');
  if (old.person) throw invalid('key_id', 'This is the key of a session. Only its person may use it.');
  const overlapMs = checkOverlap(overlapSeconds) * 1000;
  const expiresAtMs = Math.min(nowMs + overlapMs, old.expiresAtMs ?? Infinity);
  const end = overlapMs === 0 ? { revokedAtMs: nowMs } : { expiresAtMs };
  const { key, secret } = newKey(nowMs, old, old.originId);
  const entry = audit(deps, call, 'key.rotate', old.id, { replacement: key.id });
  if (!(await store.keys.rotate(old.id, end, key, entry, keysPerAccountMax))) {
    throw overlapMs === 0 ? keyEnded() : tooManyKeys(keysPerAccountMax);
  }
  return { key: await describeKey(deps, key), secret };
}

function keyEnded(): ParleyError {
  return invalid('key_id', 'The key is revoked or has expired. Create a new one.');
}

function tooManyKeys(liveMax: number): ParleyError {
  return new ParleyError('too_many_keys', {
    message: `The account has reached its limit of ${liveMax} working keys. Revoke one first.`,
  });
}

function noSuchKey(id: string): ParleyError {
  return new ParleyError('not_found', {
    message: `There is no such key: ${quote(id)}. List the account's keys to see their ids.`,
    param: 'key_id',
  });
}

async function describeKeys(deps: AccountsDeps, page: Page<Key, string>) {
  return { keys: page.items.map(await describer(deps, page.items)), ...nextPage(page) };
}

async function describeKey(deps: AccountsDeps, key: Key): Promise<KeyMessage> {
  const describe = await describer(deps, [key]);
  return describe(key);
}

/** Reads the counts of all these keys at once. */
async function describer({ store, clock }: AccountsDeps, keys: readonly Key[]) {
  const nowMs = clock.now();
  const counts = new Map(keys.map((key) => [key, countsOf(key.originId, key.limits, nowMs)]));
  const all = [...counts.values()].flat();
  const amounts = all.length === 0 ? [] : await store.requests.taken(all);
  const taken = new Map(all.map((count, at) => [count, amounts[at]]));
  return (key: Key) => {
    const own = counts.get(key) ?? [];
    return keyMessage(
      key,
      own.map((count) => describeCount(count, taken.get(count) ?? 0n, nowMs)),
    );
  };
}

function keyMessage(key: Key, limitCounts: LimitCount[]): KeyMessage {
  return create(KeySchema, {
    id: key.id,
    name: key.name,
    prefix: isInvitation(key) ? invitationPrefix : keyKinds[key.kind],
    lastFour: key.lastFour,
    scopes: [...grantedScopes(key)],
    invitation: isInvitation(key),
    createdAt: timestampFromMs(key.createdAtMs),
    limitCounts,
    ...(key.limits && { limits: describeLimits(key.limits) }),
    ...(key.lastUsedAtMs !== undefined && { lastUsedAt: timestampFromMs(key.lastUsedAtMs) }),
    ...(key.accountId !== undefined && { accountId: key.accountId }),
    ...(key.expiresAtMs !== undefined && { expiresAt: timestampFromMs(key.expiresAtMs) }),
    ...(key.revokedAtMs !== undefined && { revokedAt: timestampFromMs(key.revokedAtMs) }),
  });
}
