import { sql } from 'kysely';
import type { AuditEntry, AuditStore } from '../../core/entities/audit.ts';
import { type AuditId, firstAuditId } from '../../core/values/ids.ts';
import { type Executor, pageOf } from '../sql/executor.ts';
import { hasChanged, type Step, step } from '../sql/job.ts';
import { type AuditRow, afterAll } from '../sql/schema.ts';
import { containing, query, statement } from '../sql/statement.ts';

const insert = statement((p: Omit<AuditEntry, 'details'> & { details: string }) =>
  query
    .insertInto('audit_entries')
    .values({
      id: p.id,
      created_at_ms: p.createdAtMs,
      actor: p.actor,
      action: p.action,
      target: p.target,
      details: p.details,
    }),
);
/** Entries that a filter looks at in one call: more would keep the requests of others waiting. */
const searchedMax = 5_000;

interface Bounds {
  readonly after: string;
  readonly since: string;
  readonly until: string;
}

const inBounds = (p: Bounds) =>
  query
    .selectFrom('audit_entries')
    .where('id', '<', p.after)
    .where('id', '<', p.until)
    .where('id', '>=', p.since)
    .orderBy('id', 'desc');
const entriesBefore = statement((p: Bounds & { actor: string; pattern: string; size: number }) =>
  inBounds(p)
    .selectAll()
    .where(sql<boolean>`actor = case ${p.actor} when '' then actor else ${p.actor} end`)
    .where(
      sql<boolean>`lower(action || ' ' || actor || ' ' || target || ' ' || details) like ${p.pattern} escape '\\'`,
    )
    .limit(p.size),
).map(toEntry);
const lastSearched = statement((p: Bounds) =>
  inBounds(p)
    .select('id')
    .limit(1)
    .offset(sql.lit(searchedMax - 1)),
).map(({ id }) => id as AuditId);

const entriesAfter = statement((p: { after: string; until: string; size: number }) =>
  query
    .selectFrom('audit_entries')
    .selectAll()
    .where('id', '>', p.after)
    .where('id', '<', p.until)
    .orderBy('id')
    .limit(p.size),
).map(toEntry);
/** Concurrent requests wait while entries are removed. */
const prunedAtOnce = 1_000;
const removeOldest = statement(
  (p: { until: string }) => sql`delete from audit_entries where id in (
    select id from audit_entries where id < ${p.until} order by id limit ${sql.lit(prunedAtOnce)})`,
);

export function auditStore(executor: Executor): AuditStore {
  return {
    async list(page, { actor = '', search = '', fromMs = 0, beforeMs } = {}) {
      const until = beforeMs === undefined ? afterAll : firstAuditId(Math.max(0, beforeMs));
      const { after = afterAll } = page;
      const bounds = { after, since: firstAuditId(Math.max(0, fromMs)), until };
      const last = actor + search === '' ? undefined : await executor.get(lastSearched, bounds);
      const filter = { ...bounds, since: last ?? bounds.since, actor, pattern: containing(search) };
      const found = await pageOf<AuditEntry, AuditId>(page, ({ size, after = afterAll }) =>
        executor.all(entriesBefore, { ...filter, after, size }),
      );
      return { ...found, nextAfter: found.nextAfter ?? last };
    },

    listAfter: (after, beforeMs, size) =>
      executor.all(entriesAfter, { after, until: firstAuditId(beforeMs), size }),

    async add(entry) {
      await executor.run({ steps: [insertAudit(entry)] });
    },

    prune(beforeMs, audit) {
      const removal = step(removeOldest, { until: firstAuditId(beforeMs) }, 'stop');
      return remove(executor, removal, audit);
    },
  };
}

/** Writes a change and its audit entry, or neither. False if the first step stopped the job. */
export async function change(
  executor: Executor,
  audit: AuditEntry,
  steps: readonly Step[],
): Promise<boolean> {
  return hasChanged(await executor.run({ steps: [...steps, insertAudit(audit)] }));
}

/** Removes rows, and writes an audit entry with it if there is one. Returns the number of removed rows. */
export async function remove(executor: Executor, removal: Step, audit?: AuditEntry): Promise<number> {
  const steps = audit ? [removal, insertAudit(audit)] : [removal];
  const [removed] = await executor.run({ steps, isExclusive: true });
  return removed && 'changes' in removed ? removed.changes : 0;
}

/** Follows the change in the same job. */
export function insertAudit(entry: AuditEntry): Step {
  return step(insert, { ...entry, details: JSON.stringify(entry.details) });
}

function toEntry(row: AuditRow): AuditEntry {
  return {
    id: row.id as AuditId,
    createdAtMs: Number(row.created_at_ms),
    actor: row.actor,
    action: row.action,
    target: row.target,
    details: JSON.parse(row.details) as AuditEntry['details'],
  };
}
