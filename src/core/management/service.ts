import { create } from '@bufbuild/protobuf';
import * as pb from '../../../gen/parley/management/v1/management_pb.ts';
import type { Call } from '../access/call.ts';
import { ownKey } from '../access/own-key.ts';
import * as check from '../admin/checks.ts';
import { IssuedKeys, type KeysDeps, noSuchKey } from '../admin/keys.ts';
import { defaultScopes, type Key, type Scope } from '../entities/key.ts';
import { compactLimits, type Limits, rateNames } from '../entities/limits.ts';
import { readLimits } from '../limits/messages.ts';
import { inheritedLimits, widerMember } from '../limits/within.ts';
import { ParleyError } from '../values/errors.ts';

/** The rights of a key. */
type Powers = Pick<Key, 'scopes' | 'expiresAtMs' | 'limits'>;

/** Implements ManagementService. The gate has checked the scope; nothing here reaches another account. */
export class ManagementOperations {
  readonly #deps: KeysDeps;
  readonly #keys: IssuedKeys;

  constructor(deps: KeysDeps) {
    this.#deps = deps;
    this.#keys = new IssuedKeys(deps);
  }

  /** For every key of an account. */
  async getKey(_request: pb.GetKeyRequest, { caller }: Call): Promise<pb.GetKeyResponse> {
    const key = await this.#keys.find(caller.keyId);
    return create(pb.GetKeyResponseSchema, { key: await this.#keys.describe(key) });
  }

  async listKeys(request: pb.ListKeysRequest, { caller }: Call): Promise<pb.ListKeysResponse> {
    return create(pb.ListKeysResponseSchema, await this.#keys.list(caller.account.id, request));
  }

  async createKey(request: pb.CreateKeyRequest, call: Call): Promise<pb.CreateKeyResponse> {
    const own = await ownKey(this.#deps, call.caller);
    const name = check.checkText('name', request.name);
    const powers: Powers = {
      scopes: scopesFor(request.scopes, own.scopes),
      expiresAtMs: this.#keys.future('expires_at', request.expiresAt) ?? own.expiresAtMs,
      limits: limitsWithin(request.limits, own),
    };
    refuseWider(powers, own);
    refuseCounted(own);
    const facts = { kind: 'account' as const, accountId: call.caller.account.id, name, ...powers };
    return create(pb.CreateKeyResponseSchema, await this.#keys.create(facts, { actor: own.id }));
  }

  async setKeyLimits(request: pb.SetKeyLimitsRequest, call: Call): Promise<pb.SetKeyLimitsResponse> {
    const own = await ownKey(this.#deps, call.caller);
    const key = await this.#keyOfAccount(request.keyId, own);
    const limits = limitsWithin(request.limits, own);
    refuseWiderLimits(limits, own.limits);
    if (widerMember(limits, key.limits) !== undefined) {
      refuseWider({ ...key, limits }, own);
      refuseCounted(own);
    }
    return create(pb.SetKeyLimitsResponseSchema, {
      key: await this.#keys.setLimits(key, limits, { actor: own.id }),
    });
  }

  async rotateKey(request: pb.RotateKeyRequest, call: Call): Promise<pb.RotateKeyResponse> {
    const own = await ownKey(this.#deps, call.caller);
    const old = await this.#keyOfAccount(request.keyId, own);
    // Whoever rotates a key gets its secret. The keys of one rotation count together.
    refuseWider(old, own);
    if (old.originId !== own.originId) refuseCounted(own);
    const issued = await this.#keys.rotate(old, request.overlapSeconds, { actor: own.id });
    return create(pb.RotateKeyResponseSchema, issued);
  }

  /** A key may revoke any other of its account: that gives nobody more. */
  async revokeKey(request: pb.RevokeKeyRequest, call: Call): Promise<pb.RevokeKeyResponse> {
    const own = await ownKey(this.#deps, call.caller);
    const key = await this.#keyOfAccount(request.keyId, own);
    return create(pb.RevokeKeyResponseSchema, { key: await this.#keys.revoke(key, { actor: own.id }) });
  }

  /** A key of another account is as unknown as one that there is not. */
  async #keyOfAccount(id: string, own: Key): Promise<Key> {
    const key = await this.#keys.find(id);
    if (key.accountId === own.accountId) return key;
    throw noSuchKey(id);
  }
}

function scopesFor(wanted: readonly string[], own: readonly Scope[]): readonly Scope[] {
  if (wanted.length > 0) return check.checkScopes(wanted);
  const scopes = defaultScopes.filter((scope) => own.includes(scope));
  return scopes.length > 0 ? scopes : own;
}

function limitsWithin(wanted: Parameters<typeof readLimits>[0], own: Key): Limits | undefined {
  return compactLimits(inheritedLimits(readLimits(wanted) ?? {}, own.limits));
}

/** @throws `insufficient_scope` */
function refuseWider(key: Powers, own: Powers): void {
  const scope = key.scopes.find((name) => !own.scopes.includes(name));
  if (scope !== undefined) throw wider('scopes', `the scope \`${scope}\``);
  if ((key.expiresAtMs ?? Infinity) > (own.expiresAtMs ?? Infinity)) throw wider('expires_at', 'a later end');
  refuseWiderLimits(key.limits, own.limits);
}

/**
 * Refuses a key whose own limits are counted: each key counts for itself, so several keys together would get more.
 * @throws `insufficient_scope`
 */
function refuseCounted({ limits }: Powers): void {
  if (limits?.budgets === undefined && !rateNames.some((name) => limits?.[name] !== undefined)) return;
  throw new ParleyError('insufficient_scope', {
    message:
      'This API key has a budget or a rate of its own, so it cannot make or rotate other keys or loosen their limits.',
  });
}

function refuseWiderLimits(limits: Limits | undefined, own: Limits | undefined): void {
  const member = widerMember(limits, own);
  if (member === undefined) return;
  const name = member.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
  throw wider(`limits.${name}`, `a wider limit \`${name}\``);
}

function wider(param: string, what: string): ParleyError {
  return new ParleyError('insufficient_scope', {
    message: `This API key cannot give ${what}, which it does not have itself.`,
    param,
  });
}
