import { sql } from 'kysely';
import type { AccountId, KeyId } from '../../core/ids.ts';
import { type Limits, limitsFromText, limitsToText } from '../../core/limits/limits.ts';
import { type Key, type KeyEnd, type Scope, scopes } from '../../core/ports/keys.ts';
import { type Step, step } from '../job.ts';
import { columnsOf, query, statement } from '../statement.ts';
import { type KeyRow, type NewKeyRow, optionalNumber } from './schema.ts';

const keyColumns = [
  'id',
  'account_id',
  'kind',
  'name',
  'hash',
  'last_four',
  'scopes',
  'created_at_ms',
  'expires_at_ms',
  'revoked_at_ms',
  'limits',
  'origin_id',
] as const;

const keys = query.selectFrom('api_keys').selectAll();
export const keyByHash = statement((p: { hash: string }) => keys.where('hash', '=', p.hash)).map(toKey);
/** PostgreSQL. */
export const keysByHashes = statement((p: { hashes: readonly string[] }) =>
  keys.where(sql<boolean>`hash = any(${p.hashes})`),
).map(toKey);
export const keyById = statement((p: { id: string }) => keys.where('id', '=', p.id)).map(toKey);
export const keysOfAccount = statement((p: { accountId: string }) =>
  keys.where('account_id', '=', p.accountId).orderBy('id'),
).map(toKey);
export const adminKeys = statement((_: object) => keys.where('kind', '=', 'admin').orderBy('id')).map(toKey);
export const anyKey = statement((_: object) => query.selectFrom('api_keys').select('id').limit(1));

const insert = statement((p: NewKeyRow) => query.insertInto('api_keys').values(columnsOf(p, keyColumns)));
const expire = statement((p: { id: string; atMs: number }) =>
  query.updateTable('api_keys').set({ expires_at_ms: p.atMs }).where('id', '=', p.id),
);
const revoke = statement((p: { id: string; atMs: number }) =>
  query
    .updateTable('api_keys')
    .set({ revoked_at_ms: p.atMs })
    .where('id', '=', p.id)
    .where('revoked_at_ms', 'is', null),
);

const noteUse = statement((p: { id: string; atMs: number }) =>
  query.updateTable('api_keys').set({ last_used_at_ms: p.atMs }).where('id', '=', p.id),
);
const revokeAll = statement((p: { accountId: string; atMs: number }) =>
  query
    .updateTable('api_keys')
    .set({ revoked_at_ms: p.atMs })
    .where('account_id', '=', p.accountId)
    .where('revoked_at_ms', 'is', null),
);
const replaceLimits = statement((p: { id: string; limits: string }) =>
  query.updateTable('api_keys').set({ limits: p.limits }).where('id', '=', p.id),
);

export function insertKey(key: Key): Step {
  return step(insert, {
    id: key.id,
    account_id: key.accountId ?? null,
    kind: key.kind,
    name: key.name,
    hash: key.hash,
    last_four: key.lastFour,
    scopes: key.scopes.join(' '),
    created_at_ms: key.createdAtMs,
    expires_at_ms: key.expiresAtMs ?? null,
    revoked_at_ms: key.revokedAtMs ?? null,
    limits: limitsToText(key.limits),
    origin_id: key.originId === key.id ? '' : key.originId,
  });
}

export function setKeyLimits(id: KeyId, limits: Limits | undefined): Step {
  return step(replaceLimits, { id, limits: limitsToText(limits) });
}

/** Changes nothing if the key was revoked before. */
export function revokeKey(id: KeyId, atMs: number): Step {
  return step(revoke, { id, atMs }, 'stop');
}

export function noteKeyUse(id: KeyId, atMs: number): Step {
  return step(noteUse, { id, atMs });
}

export function revokeKeysOf(accountId: AccountId, atMs: number): Step {
  return step(revokeAll, { accountId, atMs });
}

export function endKey(id: KeyId, end: KeyEnd): Step {
  if ('revokedAtMs' in end) return step(revoke, { id, atMs: end.revokedAtMs });
  return step(expire, { id, atMs: end.expiresAtMs });
}

function toKey(row: KeyRow): Key {
  return {
    id: row.id as KeyId,
    accountId: (row.account_id ?? undefined) as AccountId | undefined,
    kind: row.kind,
    name: row.name,
    hash: row.hash,
    lastFour: row.last_four,
    scopes: row.scopes.split(' ').filter(isScope),
    createdAtMs: Number(row.created_at_ms),
    expiresAtMs: optionalNumber(row.expires_at_ms),
    revokedAtMs: optionalNumber(row.revoked_at_ms),
    lastUsedAtMs: optionalNumber(row.last_used_at_ms),
    limits: limitsFromText(row.limits),
    originId: (row.origin_id || row.id) as KeyId,
  };
}

function isScope(name: string): name is Scope {
  return scopes.some((scope) => scope === name);
}
