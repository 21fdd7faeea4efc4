import type { AccountId, KeyId } from '../values/ids.ts';
import type { KeyKind } from '../values/key-secret.ts';
import type { Page, PageRequest } from '../values/parameters.ts';
import type { Soon } from '../values/soon.ts';
import type { AccountFacts } from './account.ts';
import type { AuditEntry } from './audit.ts';
import type { Person, ProviderLogout } from './identity-provider.ts';
import type { Limited, Limits } from './limits.ts';

export const scopes = ['speech', 'transcription', 'chat', 'manage'] as const;
/** The scopes of a key that is created without any. */
export const defaultScopes: readonly Scope[] = ['speech', 'transcription', 'chat'];

export type Scope = (typeof scopes)[number];

/** The rights that an admin key may be limited to. */
export const adminScopes = [
  'accounts:read',
  'accounts:write',
  'credits:load',
  'keys',
  'usage:read',
  'alerts',
  'alerts:read',
  'server',
  'configuration',
  'server:read',
  'audit:read',
] as const;

export type AdminScope = (typeof adminScopes)[number];

/** Marks an invitation: a row of the keys whose secret makes one key, with the other scopes, and works for nothing else. */
export const invitation = 'invitation';
export type StoredScope = Scope | AdminScope | typeof invitation;

export const isInvitation = ({ scopes: own }: Pick<Key, 'scopes'>): boolean => own.includes(invitation);

/** The scopes of a key, or of the key that an invitation becomes. */
export const grantedScopes = ({ scopes: own }: Pick<Key, 'scopes'>): Key['scopes'] =>
  own.filter((scope) => scope !== invitation);

export interface Key extends Limited {
  readonly id: KeyId;
  /** Id of the key before its first rotation. Budgets and rates continue under it. */
  readonly originId: KeyId;
  /** Undefined for an admin key. */
  readonly accountId: AccountId | undefined;
  readonly kind: KeyKind;
  readonly name: string;
  readonly hash: string;
  readonly lastFour: string;
  /** An admin key without scopes may do everything. */
  readonly scopes: readonly StoredScope[];
  readonly createdAtMs: number;
  readonly expiresAtMs: number | undefined;
  readonly revokedAtMs: number | undefined;
  /** Rounded to the minute. */
  readonly lastUsedAtMs?: number | undefined;
  /** The person whose session of the console has this key. Default: none, as the key is used by itself */
  readonly person?: Person | undefined;
}

/** A revoked key is refused, whatever the time. */
export function isLive(key: Pick<Key, 'revokedAtMs' | 'expiresAtMs'>, nowMs: number): boolean {
  return key.revokedAtMs === undefined && (key.expiresAtMs ?? Infinity) > nowMs;
}

export interface KeyHolder {
  readonly key: Key;
  /** Undefined for an admin key. */
  readonly account: AccountFacts | undefined;
  /** Changes with the account's keys, name and subscriptions. Undefined if the store never returns outdated keys. */
  readonly policyVersion?: bigint | undefined;
}

/** Revoked at once and permanently, or expiring later. */
export type KeyEnd = { readonly revokedAtMs: number } | { readonly expiresAtMs: number };

export interface KeyStore {
  /**
   * Also finds revoked and expired keys. An implementation may cache keys: one without `policyVersion` is never
   * outdated, any other at most by a second.
   */
  find(hash: string): Soon<KeyHolder | undefined>;
  /**
   * @param liveMax maximum keys of the account that are neither revoked nor expired, including this one, without those
   * of sessions. Default: any number
   * @returns false, without a change, if there would be more
   */
  create(key: Key, audit: AuditEntry, liveMax?: number): Promise<boolean>;
  findById(id: string): Promise<Key | undefined>;
  /** The names of known keys among these ids, in no particular order. */
  names(
    ids: readonly string[],
  ): Promise<readonly { readonly id: string; readonly name: string; readonly lastFour: string }[]>;
  /** Whether there is an admin key without scopes, of no session, that is neither revoked nor expired. */
  hasAdmin(atMs: number): Promise<boolean>;
  /** A page of the keys of an account, or of the admin keys, in order of creation. Without those of sessions. */
  list(accountId: AccountId | undefined, page: PageRequest): Promise<Page<Key, KeyId>>;
  /**
   * Writes the new key and the end of the old one, both or neither. False, and no change, if the old one should be revoked and was revoked
   * before, or if it goes on for a while and would be one of more than `liveMax`, as for `create`.
   */
  rotate(old: KeyId, end: KeyEnd, replacement: Key, audit: AuditEntry, liveMax?: number): Promise<boolean>;
  setLimits(id: KeyId, limits: Limits | undefined, audit: AuditEntry): Promise<void>;
  revoke(id: KeyId, revokedAtMs: number, audit: AuditEntry): Promise<void>;
  /** Writes the last use of an admin key, once a minute. */
  noteUse(id: KeyId, atMs: number): Promise<void>;
  endSessions(logout: ProviderLogout, revokedAtMs: number, audit: AuditEntry): Promise<void>;
}

/** The scope that includes another one. */
const widerScopes: { readonly [K in AdminScope]?: AdminScope } = {
  'alerts:read': 'alerts',
  'server:read': 'server',
  'audit:read': 'server',
};

/** Whether an admin key has a scope. A key without scopes may do everything. */
export function hasAdminScope({ scopes: own }: Pick<Key, 'scopes'>, scope: AdminScope): boolean {
  const wider = widerScopes[scope];
  return own.length === 0 || own.includes(scope) || (wider !== undefined && own.includes(wider));
}

/** All scopes that an admin key has, those that others include among them. */
export function adminScopesOf(key: Pick<Key, 'scopes'>): AdminScope[] {
  return adminScopes.filter((scope) => hasAdminScope(key, scope));
}
