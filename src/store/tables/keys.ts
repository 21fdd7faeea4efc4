import type { AccountId, KeyId } from '../../core/ids.ts';
import { type Key, type KeyEnd, type Scope, scopes } from '../../core/ports/keys.ts';
import type { Reader } from '../sqlite/reader.ts';
import { type Step, step } from '../sqlite/writer/job.ts';
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
] as const;

const keys = query.selectFrom('api_keys').selectAll();
const byHash = statement((p: { hash: string }) => keys.where('hash', '=', p.hash));
const byId = statement((p: { id: string }) => keys.where('id', '=', p.id));
const ofAccount = statement((p: { accountId: string }) =>
  keys.where('account_id', '=', p.accountId).orderBy('id'),
);
const ofAdmins = statement((_: object) => keys.where('kind', '=', 'admin').orderBy('id'));
const any = statement((_: object) => query.selectFrom('api_keys').select('id').limit(1));

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
  });
}

/** Changes nothing if the key was revoked before. */
export function revokeKey(id: KeyId, atMs: number): Step {
  return step(revoke, { id, atMs }, 'stop');
}

export function endKey(id: KeyId, end: KeyEnd): Step {
  if ('revokedAtMs' in end) return step(revoke, { id, atMs: end.revokedAtMs });
  return step(expire, { id, atMs: end.expiresAtMs });
}

/** Reads keys. */
export class Keys {
  readonly #reader: Reader;

  constructor(reader: Reader) {
    this.#reader = reader;
  }

  byHash(hash: string): Key | undefined {
    return toKey(this.#reader.get(byHash, { hash }));
  }

  byId(id: string): Key | undefined {
    return toKey(this.#reader.get(byId, { id }));
  }

  /** The keys of an account, or the admin keys. */
  list(accountId: AccountId | undefined): Key[] {
    const rows =
      accountId === undefined ? this.#reader.all(ofAdmins, {}) : this.#reader.all(ofAccount, { accountId });
    return rows.flatMap((row) => toKey(row) ?? []);
  }

  hasAny(): boolean {
    return this.#reader.get(any, {}) !== undefined;
  }
}

function toKey(row: KeyRow | undefined): Key | undefined {
  return (
    row && {
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
    }
  );
}

function isScope(name: string): name is Scope {
  return scopes.some((scope) => scope === name);
}
