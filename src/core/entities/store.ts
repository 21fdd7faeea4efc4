import type { AccountStore } from './account.ts';
import type { AlertStore } from './alert.ts';
import type { AuditStore } from './audit.ts';
import type { IdempotencyStore } from './idempotency.ts';
import type { KeyStore } from './key.ts';
import type { LedgerStore } from './ledger.ts';
import type { RequestStore } from './reservation.ts';
import type { SessionStore } from './session.ts';
import type { UsageStore } from './usage.ts';

/** Notified when writes begin to fail, when they succeed again, and when the process has to end. */
export interface StoreObserver {
  /**
   * @param trouble the files are missing from the data folder, another program locks the database, it cannot be
   * written, or it cannot be reached
   */
  failing(trouble: StoreTrouble, cause: unknown): void;
  working(): void;
  /** Memory and disk may differ, so the process must end. Its next start reads the data on the disk. */
  lost(what: string, cause: unknown): void;
}
export type StoreTrouble = 'moved' | 'locked' | 'unwritable' | 'unreachable';

/**
 * Persistence: whole operations, each atomic, and durable once its promise resolves. An implementation may group
 * operations of many requests into one transaction. While the database cannot be used, operations reject with
 * `overloaded` and change nothing.
 */
export interface Store {
  readonly requests: RequestStore;
  readonly accounts: AccountStore;
  readonly keys: KeyStore;
  readonly sessions: SessionStore;
  readonly ledger: LedgerStore;
  readonly usage: UsageStore;
  readonly idempotency: IdempotencyStore;
  readonly audit: AuditStore;
  readonly alerts: AlertStore;
  readonly nodes: NodeStore;
  /** Signs the reasoning that clients keep. All servers of the database have the same. */
  reasoningSecret(): Promise<string>;
  /** Whether the store has neither accounts nor keys. */
  isEmpty(): Promise<boolean>;
  close(): Promise<void>;
}

/** A server that shares the database with others. */
interface NodeState {
  /** Host and process of the server. */
  readonly name: string;
  readonly version: string;
  /** `late`: its lease has ended. `dead`: others release its requests. */
  readonly state: 'alive' | 'late' | 'dead';
  /** When its lease ends or ended, by the clock of the database. */
  readonly leaseEndsAtMs: number;
  /** Time since the end of its lease. 0 while it is alive. */
  readonly lateMs: number;
  /** Whether it is this process. */
  readonly isOwn: boolean;
}

interface NodeStore {
  /** Nodes in the order in which they registered. Empty if one process owns the database. */
  list(): Promise<readonly NodeState[]>;
}
