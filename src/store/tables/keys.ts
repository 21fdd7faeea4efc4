import type { AccountId, KeyId } from '../../core/ids.ts';
import { type Key, type Scope, scopes } from '../../core/ports/keys.ts';
import { type Connection, columnsOf, prepare, query } from '../sqlite/database.ts';
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

/** Statements on keys. Synchronous: they run inside the store's transactions. */
export class Keys {
  readonly #byHash;
  readonly #byId;
  readonly #byAccount;
  readonly #adminKeys;
  readonly #insert;
  readonly #expire;
  readonly #revoke;
  readonly #any;

  constructor(connection: Connection) {
    const columns = query.selectFrom('api_keys').selectAll();
    this.#byHash = prepare(connection, (p: { hash: string }) => columns.where('hash', '=', p.hash));
    this.#byId = prepare(connection, (p: { id: string }) => columns.where('id', '=', p.id));
    this.#byAccount = prepare(connection, (p: { accountId: string }) =>
      columns.where('account_id', '=', p.accountId).orderBy('id'),
    );
    this.#adminKeys = prepare(connection, (_: object) => columns.where('kind', '=', 'admin').orderBy('id'));
    this.#insert = prepare(connection, (p: NewKeyRow) =>
      query.insertInto('api_keys').values(columnsOf(p, keyColumns)),
    );
    this.#expire = prepare(connection, (p: { id: string; atMs: number }) =>
      query.updateTable('api_keys').set({ expires_at_ms: p.atMs }).where('id', '=', p.id),
    );
    this.#revoke = prepare(connection, (p: { id: string; atMs: number }) =>
      query
        .updateTable('api_keys')
        .set({ revoked_at_ms: p.atMs })
        .where('id', '=', p.id)
        .where('revoked_at_ms', 'is', null),
    );
    this.#any = prepare(connection, (_: object) => query.selectFrom('api_keys').select('id').limit(1));
  }

  byHash(hash: string): Key | undefined {
    return toKey(this.#byHash.get({ hash }));
  }

  byId(id: string): Key | undefined {
    return toKey(this.#byId.get({ id }));
  }

  /** The keys of an account, or the admin keys. */
  list(accountId: AccountId | undefined): Key[] {
    const rows = accountId === undefined ? this.#adminKeys.all({}) : this.#byAccount.all({ accountId });
    return rows.flatMap((row) => toKey(row) ?? []);
  }

  insert(key: Key): void {
    this.#insert.run({
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

  expire(id: KeyId, atMs: number): void {
    this.#expire.run({ id, atMs });
  }

  /** False if the key was revoked before. */
  revoke(id: KeyId, atMs: number): boolean {
    return this.#revoke.run({ id, atMs }).changes > 0;
  }

  hasAny(): boolean {
    return this.#any.get({}) !== undefined;
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
