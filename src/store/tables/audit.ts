import type { AuditId } from '../../core/ids.ts';
import type { AuditEntry } from '../../core/ports/audit.ts';
import type { PageRequest } from '../../core/ports/page.ts';
import type { Reader } from '../sqlite/reader.ts';
import { type Step, step } from '../sqlite/writer/job.ts';
import { query, statement } from '../statement.ts';
import { type AuditRow, afterAll } from './schema.ts';

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
const page = statement((p: { after: string; size: number }) =>
  query.selectFrom('audit_entries').selectAll().where('id', '<', p.after).orderBy('id', 'desc').limit(p.size),
);

/** Follows the change in the same job. */
export function insertAudit(entry: AuditEntry): Step {
  return step(insert, { ...entry, details: JSON.stringify(entry.details) });
}

/** A page of changes by administrators, newest first. */
export function listAudit(reader: Reader, { size, after = afterAll }: PageRequest): AuditEntry[] {
  return reader.all(page, { after, size }).map(toEntry);
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
