/** The rights that a key may give to other keys: none that it lacks itself. */

import {
  adminScopes,
  adminScopesOf,
  defaultScopes,
  hasAdminScope,
  type Key,
  scopes,
} from '../entities/key.ts';
import { budgetNames, compactLimits, type Limits, rateNames } from '../entities/limits.ts';
import { readLimits } from '../limits/messages.ts';
import { coversPattern } from '../limits/models.ts';
import { coversNetwork } from '../values/addresses.ts';
import { ParleyError } from '../values/errors.ts';
import type { NanoCredits } from '../values/money.ts';
import { checkScopes } from './checks.ts';

type Powers = Pick<Key, 'scopes' | 'expiresAtMs' | 'limits'>;

/** @param own the calling key; undefined for an administrator, as in all functions here */
export function scopesWithin(wanted: readonly string[], own: Key | undefined): Key['scopes'] {
  if (wanted.length > 0) return checkScopes(wanted, scopes);
  if (own === undefined) return defaultScopes;
  const inherited = defaultScopes.filter((scope) => own.scopes.includes(scope));
  return inherited.length > 0 ? inherited : own.scopes;
}

/** The requested scopes of an admin key, or those of the calling key by default. */
export function adminScopesWithin(wanted: readonly string[], own: Key | undefined): Key['scopes'] {
  return wanted.length > 0 ? checkScopes(wanted, adminScopes) : (own?.scopes ?? []);
}

/**
 * Refuses to create, rotate or revoke an admin key with more rights than the calling one.
 * @param own undefined for a caller that may do everything
 * @throws `insufficient_scope`
 */
export function refuseWiderAdminKey(key: Omit<Powers, 'limits'>, own: Key | undefined): void {
  if (own === undefined) return;
  const hasMore = key.scopes.length === 0 || adminScopesOf(key).some((scope) => !hasAdminScope(own, scope));
  if (!hasMore && (key.expiresAtMs ?? Infinity) <= (own.expiresAtMs ?? Infinity)) return;
  throw new ParleyError('insufficient_scope', {
    message: 'This admin key manages only admin keys that have no more scopes and end no later than itself.',
  });
}

/** The requested limits, or those of the calling key by default. */
export function limitsWithin(
  wanted: Parameters<typeof readLimits>[0],
  own: Key | undefined,
): Limits | undefined {
  return compactLimits(inheritedLimits(readLimits(wanted) ?? {}, own?.limits));
}

/** @throws `insufficient_scope` */
export function refuseWiderKey(powers: Powers, own: Key): void {
  refuseWider(powers, own);
  refuseCounted(own);
}

/** @throws `insufficient_scope` */
export function refuseLooserLimits(limits: Limits | undefined, key: Key, own: Key): void {
  refuseWiderLimits(limits, own.limits);
  if (widerMember(limits, key.limits) !== undefined) refuseWiderKey({ ...key, limits }, own);
}

/** A caller that rotates a key gets its secret. The keys of one rotation share their counts. @throws `insufficient_scope` */
export function refuseRotation(old: Key, own: Key): void {
  refuseWider(old, own);
  if (old.originId !== own.originId) refuseCounted(own);
}

function refuseWider(key: Powers, own: Powers): void {
  const scope = key.scopes.find((name) => !own.scopes.includes(name));
  if (scope !== undefined) throw wider('scopes', `the scope \`${scope}\``);
  if ((key.expiresAtMs ?? Infinity) > (own.expiresAtMs ?? Infinity)) throw wider('expires_at', 'a later end');
  refuseWiderLimits(key.limits, own.limits);
}

/** Refuses a key whose own limits are counted: as each key has its own counts, several keys together would get more. */
function refuseCounted({ limits }: Powers): void {
  const counted = ['budgets', 'perEndUser', ...rateNames] as const;
  if (!counted.some((name) => limits?.[name] !== undefined)) return;
  throw new ParleyError('insufficient_scope', {
    message:
      'This API key has its own budget or rate, so it cannot create or rotate other keys or widen their limits.',
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
    message: `This API key cannot give ${what}, as it does not have it itself.`,
    param,
  });
}

/** The first member of `inner` that allows more than `outer`, as a path; undefined if none does. */
export function widerMember(inner: Limits = {}, outer: Limits = {}): string | undefined {
  if (!isCovered(inner.models, outer.models, coversPattern)) return 'models';
  if (!isCovered(inner.addresses, outer.addresses, coversNetwork)) return 'addresses';
  const rate = rateNames.find((name) => isMore(inner[name], outer[name]));
  if (rate !== undefined) return rate;
  const budget = budgetNames.find((name) => isMore(inner.budgets?.[name], outer.budgets?.[name]));
  if (budget !== undefined) return `budgets.${budget}`;
  const own = budgetNames.find(
    (name) => name !== 'total' && isMore(inner.perEndUser?.[name], outer.perEndUser?.[name]),
  );
  return own && `perEndUser.${own}`;
}

/** The requested limits, or those of the issuing key by default. */
export function inheritedLimits(wanted: Limits, own: Limits = {}): Limits {
  return {
    ...own,
    ...wanted,
    budgets: { ...own.budgets, ...wanted.budgets },
    perEndUser: { ...own.perEndUser, ...wanted.perEndUser },
  };
}

function isCovered(
  inner: readonly string[] | undefined,
  outer: readonly string[] | undefined,
  covers: (outer: readonly string[], inner: string) => boolean,
): boolean {
  if (outer === undefined) return true;
  return inner?.every((entry) => covers(outer, entry)) ?? false;
}

function isMore(inner: number | NanoCredits | undefined, outer: number | NanoCredits | undefined): boolean {
  return outer !== undefined && (inner === undefined || inner > outer);
}
