import type { AuditEntry } from '../../core/entities/audit.ts';
import type { AuditId } from '../../core/values/ids.ts';
import { type Step, step } from '../sql/job.ts';
import type { AuditRow } from '../sql/schema.ts';
import { query, statement } from '../sql/statement.ts';

const insert = statement((p: Omit<AuditEntry, 'details'> & { details: string }) =>
  query.insertInto('audit_entries').values({
    id: p.id,
    created_at_ms: p.createdAtMs,
    actor: p.actor,
    action: p.action,
    target: p.target,
    details: p.details,
  }),
);
/** A page of changes by administrators, newest first. `after` is `afterAll` for the first one. */
export const auditBefore = statement((p: { after: string; size: number }) =>
  query.selectFrom('audit_entries').selectAll().where('id', '<', p.after).orderBy('id', 'desc').limit(p.size),
).map(toEntry);

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
