import type { AuditId } from '../ids.ts';
import type { Page, PageRequest } from './page.ts';

/** What an administrator does, written together with the change itself. */
export interface AuditEntry {
  readonly id: AuditId;
  readonly createdAtMs: number;
  /** The id of the admin key, or `cli` for a command on the data folder itself. */
  readonly actor: string;
  readonly action: string;
  readonly target: string;
  readonly details: Readonly<Record<string, string | number | readonly string[]>>;
}

/** What administrators did. */
export interface AuditStore {
  /** Newest first. */
  listAudit(page: PageRequest): Promise<Page<AuditEntry, AuditId>>;
}
