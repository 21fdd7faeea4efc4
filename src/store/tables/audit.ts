import type { AuditId } from '../../core/ids.ts';
import type { AuditEntry } from '../../core/ports/audit.ts';
import type { PageRequest } from '../../core/ports/page.ts';
import { type Connection, prepare, query } from '../sqlite/database.ts';
import { type AuditRow, afterAll } from './schema.ts';

/** Changes by administrators. Each entry is written in the transaction of its change. */
export class AuditTrail {
  readonly #insert;
  readonly #page;

  constructor(connection: Connection) {
    this.#insert = prepare(connection, (p: Omit<AuditEntry, 'details'> & { details: string }) =>
      query.insertInto('audit_entries').values({
        id: p.id,
        created_at_ms: p.createdAtMs,
        actor: p.actor,
        action: p.action,
        target: p.target,
        details: p.details,
      }),
    );
    this.#page = prepare(connection, (p: { after: string; size: number }) =>
      query
        .selectFrom('audit_entries')
        .selectAll()
        .where('id', '<', p.after)
        .orderBy('id', 'desc')
        .limit(p.size),
    );
  }

  insert(entry: AuditEntry): void {
    this.#insert.run({ ...entry, details: JSON.stringify(entry.details) });
  }

  list({ size, after = afterAll }: PageRequest): AuditEntry[] {
    return this.#page.all({ after, size }).map(toEntry);
  }
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
