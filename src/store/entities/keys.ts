import { sql, type Updateable } from 'kysely';
import type { AuditEntry } from '../../core/entities/audit.ts';
import type { AdminScope, Key, KeyStore, Scope } from '../../core/entities/key.ts';
import { limitsFromText, limitsToText } from '../../core/entities/limits.ts';
import type { AccountId, KeyId } from '../../core/values/ids.ts';
import { idList } from '../sql/dialect.ts';
import { type Executor, pageOf } from '../sql/executor.ts';
import { hasChanged, type Step, step } from '../sql/job.ts';
import { type Database, type KeyRow, type NewKeyRow, optionalNumber } from '../sql/schema.ts';
import { query, statement } from '../sql/statement.ts';
import { change, insertAudit } from './audit.ts';

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
  'person',
  'subject',
  'provider_session',
] as const;

const keys = query.selectFrom('api_keys').selectAll();
export const keyByHash = statement((p: { hash: string }) => keys.where('hash', '=', p.hash)).map(toKey);
/** On PostgreSQL only. */
export const keysByHashes = statement((p: { hashes: readonly string[] }) =>
  keys.where(sql<boolean>`hash = any(${p.hashes})`),
).map(toKey);
const keyById = statement((p: { id: string }) => keys.where('id', '=', p.id)).map(toKey);
const namesByIds = statement((p: { ids: string }, dialect) =>
  query
    .selectFrom('api_keys')
    .select(['id', 'name', 'last_four as lastFour'])
    .where('id', 'in', dialect.idsOf(p.ids)),
);
/** A page of keys. `after` is empty for the first one. */
const pageAfter = (p: { after: string; size: number }) =>
  keys.where('subject', '=', '').where('id', '>', p.after).orderBy('id').limit(p.size);
const keysOfAccount = statement((p: { accountId: string; after: string; size: number }) =>
  pageAfter(p).where('account_id', '=', p.accountId),
).map(toKey);
const adminKeys = statement((p: { after: string; size: number }) =>
  pageAfter(p).where('kind', '=', 'admin'),
).map(toKey);
/** How many admin keys without scopes are neither revoked nor expired. */
export const liveAdminKeys = statement((p: { atMs: number }) =>
  query
    .selectFrom('api_keys')
    .select(sql<bigint>`count(*)`.as('count'))
    .where('kind', '=', 'admin')
    .where('scopes', '=', '')
    .where('subject', '=', '')
    .where('revoked_at_ms', 'is', null)
    .where(sql<boolean>`(expires_at_ms is null or expires_at_ms > ${p.atMs})`),
).map(({ count }) => Number(count));

/** On PostgreSQL, waits until no other transaction adds keys to the account. */
const lockAccount = statement((p: { id: string }, { forUpdate }) =>
  query.selectFrom('accounts').select('id').where('id', '=', p.id).modifyEnd(forUpdate),
);
/** Changes nothing if the account has `liveMax` keys that are neither revoked nor expired. */
const insertWithin = statement((p: NewKeyRow & { readonly liveMax: number }) => {
  const values = keyColumns.map((column) => sql`${p[column]}`);
  return sql`insert into api_keys (${sql.join(keyColumns.map((column) => sql.ref(column)))})
    select ${sql.join(values)} where (
      select count(*) from api_keys where account_id = ${p.account_id} and subject = ''
        and revoked_at_ms is null and (expires_at_ms is null or expires_at_ms > ${p.created_at_ms})
    ) < ${p.liveMax}`;
});
const setOf = ({ id }: { readonly id: string }, values: Updateable<Database['api_keys']>) =>
  query.updateTable('api_keys').set(values).where('id', '=', id);
const expire = statement((p: { id: string; atMs: number }) => setOf(p, { expires_at_ms: p.atMs }));
/** Changes nothing if the key was revoked before. */
const revoke = statement((p: { id: string; atMs: number }) =>
  setOf(p, { revoked_at_ms: p.atMs }).where('revoked_at_ms', 'is', null),
);

/** Ends the sessions of a person, or one session at the provider. Changes nothing if there is none. */
const endSessions = (column: 'subject' | 'provider_session') =>
  statement((p: { named: string; beforeMs: bigint; atMs: number }) =>
    query
      .updateTable('api_keys')
      .set({ revoked_at_ms: p.atMs })
      .where(column, '=', p.named)
      .where(column, '<>', '')
      .where('created_at_ms', '<=', p.beforeMs)
      .where('revoked_at_ms', 'is', null),
  );
const endSessionsOf = { subject: endSessions('subject'), session: endSessions('provider_session') };

const noteUse = statement((p: { id: string; atMs: number }) => setOf(p, { last_used_at_ms: p.atMs }));
const replaceLimits = statement((p: { id: string; limits: string }) => setOf(p, { limits: p.limits }));

/** @param find finds a key by its hash, as in `KeyStore` */
export function keyStore(executor: Executor, find: KeyStore['find']): KeyStore {
  const lastUses = new LastUses();
  /** Adds a key within the limit of its account. */
  const add = async (key: Key, liveMax: number, audit: AuditEntry, after: readonly Step[] = []) => {
    const lock = step(lockAccount, { id: key.accountId ?? '' });
    const inserted = step(insertWithin, { ...toRow(key), liveMax }, 'stop');
    const [, ...changes] = await executor.run({ steps: [lock, inserted, ...after, insertAudit(audit)] });
    return hasChanged(changes);
  };
  return {
    async noteUse(id, atMs) {
      const usedAtMs = lastUses.note(id, atMs);
      if (usedAtMs !== undefined) await executor.run({ steps: [noteKeyUse(id, usedAtMs)] });
    },

    async endSessions({ of, id, startedBeforeMs }, atMs, audit) {
      const ended = { named: id, beforeMs: BigInt(startedBeforeMs), atMs };
      await change(executor, audit, [step(endSessionsOf[of], ended, 'stop')]);
    },

    find,

    create: (key, audit, liveMax = Number.MAX_SAFE_INTEGER) => add(key, liveMax, audit),

    findById: (id) => executor.get(keyById, { id }),

    names: (ids) => executor.all(namesByIds, { ids: idList(ids) }),

    hasAdmin: async (atMs) => ((await executor.get(liveAdminKeys, { atMs })) ?? 0) > 0,

    list: (accountId, page) =>
      pageOf(page, ({ size, after = '' }) =>
        accountId === undefined
          ? executor.all(adminKeys, { after, size })
          : executor.all(keysOfAccount, { accountId, after, size }),
      ),

    rotate(id, end, replacement, audit, liveMax = Number.MAX_SAFE_INTEGER) {
      if ('expiresAtMs' in end) {
        return add(replacement, liveMax, audit, [step(expire, { id, atMs: end.expiresAtMs })]);
      }
      // One key replaces another, so the number of live keys stays the same.
      const revoked = step(revoke, { id, atMs: end.revokedAtMs }, 'stop');
      const inserted = step(insertWithin, { ...toRow(replacement), liveMax: Number.MAX_SAFE_INTEGER });
      return change(executor, audit, [revoked, inserted]);
    },

    async setLimits(id, limits, audit) {
      await change(executor, audit, [step(replaceLimits, { id, limits: limitsToText(limits) })]);
    },

    async revoke(id, atMs, audit) {
      await change(executor, audit, [step(revoke, { id, atMs }, 'stop')]);
    },
  };
}

export function noteKeyUse(id: KeyId, atMs: number): Step {
  return step(noteUse, { id, atMs });
}

function toRow(key: Key): NewKeyRow {
  return {
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
    person: key.person?.label ?? '',
    subject: key.person?.subject ?? '',
    provider_session: key.person?.session ?? '',
  };
}

function toKey(row: KeyRow): Key {
  return {
    id: row.id as KeyId,
    accountId: (row.account_id ?? undefined) as AccountId | undefined,
    kind: row.kind,
    name: row.name,
    hash: row.hash,
    lastFour: row.last_four,
    // A scope that is unknown here stays: without any, an admin key could do everything.
    scopes: row.scopes.split(' ').filter((name) => name !== '') as (Scope | AdminScope)[],
    createdAtMs: Number(row.created_at_ms),
    expiresAtMs: optionalNumber(row.expires_at_ms),
    revokedAtMs: optionalNumber(row.revoked_at_ms),
    lastUsedAtMs: optionalNumber(row.last_used_at_ms),
    limits: limitsFromText(row.limits),
    originId: (row.origin_id || row.id) as KeyId,
    person: row.subject
      ? { label: row.person, subject: row.subject, session: row.provider_session }
      : undefined,
  };
}

const minuteMs = 60_000;
/** The number of keys whose last minute is in memory. */
const keysMax = 10_000;

/** The last use of each key, written once a minute. */
export class LastUses {
  readonly #minutes = new Map<KeyId, number>();

  /** The start of the minute of a use; undefined if it was noted before. */
  note(id: KeyId, atMs: number): number | undefined {
    const minute = Math.floor(atMs / minuteMs);
    if (this.#minutes.get(id) === minute) return undefined;
    if (this.#minutes.size >= keysMax) this.#minutes.clear();
    this.#minutes.set(id, minute);
    return minute * minuteMs;
  }
}
