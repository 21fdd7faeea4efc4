/** Loads and adjustments of credits by administrators. */
import type * as pb from '../../../gen/parley/admin/v1/admin_pb.ts';
import type { AdminCall } from '../access/call.ts';
import type { Account } from '../entities/account.ts';
import { auditEntry } from '../entities/audit.ts';
import type { LedgerEntry } from '../entities/ledger.ts';
import type { Store } from '../entities/store.ts';
import { bounds } from '../values/bounds.ts';
import { ParleyError } from '../values/errors.ts';
import { newLedgerEntryId } from '../values/ids.ts';
import { invalid } from '../values/parameters.ts';
import * as check from './checks.ts';

interface Entering {
  readonly kind: 'load' | 'adjustment';
  readonly account: Account;
  readonly createdAtMs: number;
}

/** @throws `invalid_parameter`, `idempotency_conflict`, `insufficient_credits` */
export async function enterCredits(
  store: Store,
  { kind, account, createdAtMs }: Entering,
  request: pb.LoadCreditsRequest | pb.AdjustCreditsRequest,
  call: AdminCall,
): Promise<void> {
  const amount = check.checkAmount(request.amount);
  if (kind === 'load' && amount <= 0n) throw invalid('amount', '`amount` must be above zero.');
  if (amount === 0n) throw invalid('amount', '`amount` must not be zero.');
  const entry: LedgerEntry = {
    id: newLedgerEntryId(createdAtMs),
    accountId: account.id,
    kind,
    amount,
    reason: check.checkText('reason', request.reason, bounds.reason),
    reference: check.checkText('idempotency_key', request.idempotencyKey, bounds.reason),
    createdAtMs,
  };
  const details = { amount: String(request.amount), reason: entry.reason, reference: entry.reference };
  const change = { action: `credits.${kind}`, target: account.id, details };
  const outcome = await store.enter(entry, auditEntry(createdAtMs, call, change));
  if (outcome === 'conflict') throw new ParleyError('idempotency_conflict', { param: 'idempotency_key' });
  if (outcome === 'insufficient_credits') {
    throw check.tooMuchTaken((await store.findAccount(account.id)) ?? account);
  }
  if (outcome === 'balance_too_large') {
    throw invalid('amount', 'The balance would be larger than an account can hold. Load less.');
  }
}
