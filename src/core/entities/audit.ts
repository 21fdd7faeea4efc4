import { type AuditId, newAuditId } from '../values/ids.ts';
import type { Page, PageRequest } from '../values/parameters.ts';

/** A change by an administrator, written in the transaction of the change. */
export interface AuditEntry {
  readonly id: AuditId;
  readonly createdAtMs: number;
  /**
   * The id of the key, or `cli` for a command on the data folder itself. For a session of a person, the label of the
   * person; `oidc` for a session that the identity provider ended.
   */
  readonly actor: string;
  readonly action: string;
  readonly target: string;
  readonly details: Readonly<Record<string, string | number | readonly string[]>>;
}

/** @param actor the author of the change, as in `AuditEntry` */
export function auditEntry(
  createdAtMs: number,
  { actor }: { readonly actor: string },
  change: Pick<AuditEntry, 'action' | 'target' | 'details'>,
): AuditEntry {
  return { id: newAuditId(createdAtMs), createdAtMs, actor, ...change };
}

/** Entries that have all of these. */
export interface AuditFilter {
  readonly actor?: string | undefined;
  /** A part of action, author, target or details, in any case of A to Z. */
  readonly search?: string | undefined;
  readonly fromMs?: number | undefined;
  readonly beforeMs?: number | undefined;
}

/** Changes by administrators. */
export interface AuditStore {
  /** Newest first. A page that looked at 5,000 entries ends, also without any. @param filter Default: all entries */
  list(page: PageRequest, filter?: AuditFilter): Promise<Page<AuditEntry, AuditId>>;
  /** Entries after the one with this id, made before `beforeMs`, oldest first. @param after empty: from the first entry */
  listAfter(after: string, beforeMs: number, size: number): Promise<readonly AuditEntry[]>;
  /** Writes an entry for a change outside the database. */
  add(entry: AuditEntry): Promise<void>;
  /**
   * Removes up to 1,000 of the oldest entries made before `beforeMs`, and writes `audit` if it removes any. Returns their
   * number.
   */
  prune(beforeMs: number, audit: AuditEntry): Promise<number>;
}
