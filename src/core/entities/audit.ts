import { type AuditId, newAuditId } from '../values/ids.ts';
import type { Page, PageRequest } from '../values/page.ts';

/** A change by an administrator, written in the transaction of the change. */
export interface AuditEntry {
  readonly id: AuditId;
  readonly createdAtMs: number;
  /** The id of the admin key, or `cli` for a command on the data folder itself. */
  readonly actor: string;
  readonly action: string;
  readonly target: string;
  readonly details: Readonly<Record<string, string | number | readonly string[]>>;
}

/** @param actor the id of the key that makes the change, or `cli` */
export function auditEntry(
  createdAtMs: number,
  { actor }: { readonly actor: string },
  change: Pick<AuditEntry, 'action' | 'target' | 'details'>,
): AuditEntry {
  return { id: newAuditId(createdAtMs), createdAtMs, actor, ...change };
}

/** Changes by administrators. */
export interface AuditStore {
  /** Newest first. */
  list(page: PageRequest): Promise<Page<AuditEntry, AuditId>>;
}
