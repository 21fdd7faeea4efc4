/**
 * Persistence: whole operations, each atomic, and durable once its promise resolves. An implementation may group operations
 * of many requests into one transaction.
 */
import type { AccountStore } from './accounts.ts';
import type { AuditStore } from './audit.ts';
import type { IdempotencyStore } from './idempotency.ts';
import type { KeyStore } from './keys.ts';
import type { LedgerStore } from './ledger.ts';
import type { ReservationStore } from './reservations.ts';
import type { UsageStore } from './usage.ts';

export interface Store
  extends AccountStore,
    KeyStore,
    LedgerStore,
    ReservationStore,
    UsageStore,
    IdempotencyStore,
    AuditStore {
  /** Whether the store has neither accounts nor keys. */
  isEmpty(): Promise<boolean>;
  close(): Promise<void>;
}
