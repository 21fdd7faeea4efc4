/** Accounts, ledger entries and audit entries as their holders and administrators see them. */
import { create } from '@bufbuild/protobuf';
import { timestampFromMs } from '@bufbuild/protobuf/wkt';
import {
  type Account as AccountMessage,
  AccountSchema,
  type LedgerEntry as LedgerEntryMessage,
  LedgerEntrySchema,
} from '../../../gen/parley/account/v1/account_pb.ts';
import {
  type AuditEntry as AuditEntryMessage,
  AuditEntrySchema,
} from '../../../gen/parley/admin/v1/admin_pb.ts';
import { unitsPerMonth } from '../billing/fair-use.ts';
import { type Account, type AccountTotals, entitlementAt } from '../entities/account.ts';
import type { AuditEntry } from '../entities/audit.ts';
import { fairUseCount, nextMonthMs } from '../entities/count.ts';
import type { LedgerEntry } from '../entities/ledger.ts';
import type { Limits } from '../entities/limits.ts';
import { countsOf, describeCount, describeLimits } from '../limits/messages.ts';
import { ParleyError } from '../values/errors.ts';
import type { AccountId } from '../values/ids.ts';
import { formatCredits } from '../values/money.ts';
import type { AccountsDeps } from './deps.ts';

/** The answer to a change of an account: the account after it. */
export async function accountNow(deps: AccountsDeps, id: AccountId): Promise<{ account: AccountMessage }> {
  const account = await deps.store.accounts.find(id);
  // The account always exists, as accounts are never removed.
  if (account === undefined) throw new ParleyError('internal_error');
  return { account: await describeAccount(deps, account) };
}

export async function describeAccount(deps: AccountsDeps, account: Account): Promise<AccountMessage> {
  const nowMs = deps.clock.now();
  const entitlement = entitlementAt(account.subscription, deps.accessClock.now());
  const counts = countsOf(account.id, account.limits, nowMs);
  const [usedUnits = 0n, ...taken] = await deps.store.requests.taken([
    fairUseCount(account.id, nowMs),
    ...counts,
  ]);
  const period = entitlement.state === 'none' ? undefined : entitlement.period;
  return create(AccountSchema, {
    id: account.id,
    name: account.name,
    createdAt: timestampFromMs(account.createdAtMs),
    subscription: {
      state: entitlement.state,
      ...(period && {
        startedAt: timestampFromMs(period.startsAtMs),
        endsAt: timestampFromMs(period.endsAtMs),
      }),
    },
    balanceNanoCredits: account.balance,
    balance: formatCredits(account.balance),
    heldNanoCredits: account.held,
    ...(account.suspendedAtMs !== undefined && { suspendedAt: timestampFromMs(account.suspendedAtMs) }),
    ...(account.deletedAtMs !== undefined && { deletedAt: timestampFromMs(account.deletedAtMs) }),
    ...(account.lastUsedAtMs !== undefined && { lastUsedAt: timestampFromMs(account.lastUsedAtMs) }),
    ...(account.limits && { limits: describeLimits(account.limits) }),
    limitCounts: counts.map((count, at) => describeCount(count, taken[at] ?? 0n, nowMs)),
    fairUse: {
      limitUnits: BigInt(unitsPerMonth(deps.fairUse, entitlement)),
      usedUnits,
      resetsAt: timestampFromMs(nextMonthMs(nowMs)),
    },
  });
}

export function describeTotals({ accounts, balance }: AccountTotals) {
  return { accounts, balanceNanoCredits: balance, balance: formatCredits(balance) };
}

export function describeEntry(entry: LedgerEntry): LedgerEntryMessage {
  const { createdAtMs, amount, accountId: _, ...others } = entry;
  return create(LedgerEntrySchema, {
    ...others,
    amountNanoCredits: amount,
    amount: formatCredits(amount),
    createdAt: timestampFromMs(createdAtMs),
  });
}

export function describeAudit({ createdAtMs, details, ...others }: AuditEntry): AuditEntryMessage {
  return create(AuditEntrySchema, {
    ...others,
    details: JSON.stringify(details),
    createdAt: timestampFromMs(createdAtMs),
  });
}

/** The limits that are set, for the audit trail. */
export function limitNames(limits: Limits = {}): string {
  return Object.keys(limits).join(' ');
}
