import { type AccountOfCallDeps, actorOf } from '../access/account-of-call.ts';
import type { AnyCall } from '../access/call.ts';
import type { FairUseRules } from '../billing/fair-use.ts';
import { type AuditEntry, auditEntry } from '../entities/audit.ts';
import type { ServerFacts } from '../entities/server.ts';
import type { Store } from '../entities/store.ts';
import type { Clock } from '../values/clock.ts';

export interface AccountsDeps extends AccountOfCallDeps {
  readonly store: Store;
  readonly clock: Clock;
  /** The time by which keys and subscriptions end. */
  readonly accessClock: Clock;
  readonly fairUse: FairUseRules;
  /** Maximum number of keys of an account that are neither revoked nor expired. */
  readonly keysPerAccountMax: number;
  /** Undefined in a command on the data folder, which runs no server. */
  readonly server: ServerFacts | undefined;
}

/** The audit entry of a change, such as `key.create`. */
export function audit(
  { accessClock }: AccountsDeps,
  call: AnyCall,
  action: string,
  target: string,
  details: AuditEntry['details'] = {},
): AuditEntry {
  return auditEntry(accessClock.now(), { actor: actorOf(call) }, { action, target, details });
}
