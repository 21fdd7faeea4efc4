/** The rights that a key may give to keys of its account: none that it lacks itself. */

import { defaultScopes, type Key, type Scope } from '../entities/key.ts';
import { compactLimits, type Limits, rateNames } from '../entities/limits.ts';
import { readLimits } from '../limits/messages.ts';
import { inheritedLimits, widerMember } from '../limits/within.ts';
import { ParleyError } from '../values/errors.ts';
import { checkScopes } from './checks.ts';

type Powers = Pick<Key, 'scopes' | 'expiresAtMs' | 'limits'>;

/** @param own the calling key; undefined for an administrator, as in all functions here */
export function scopesWithin(wanted: readonly string[], own: Key | undefined): readonly Scope[] {
  if (wanted.length > 0 || own === undefined) return checkScopes(wanted);
  const scopes = defaultScopes.filter((scope) => own.scopes.includes(scope));
  return scopes.length > 0 ? scopes : own.scopes;
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
  if (limits?.budgets === undefined && !rateNames.some((name) => limits?.[name] !== undefined)) return;
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
