/** Keys, ledger entries and audit entries as administrators see them. */
import { create } from '@bufbuild/protobuf';
import { timestampFromMs } from '@bufbuild/protobuf/wkt';
import {
  type LedgerEntry as LedgerEntryMessage,
  LedgerEntrySchema,
} from '../../../gen/parley/account/v1/account_pb.ts';
import type { LimitCount } from '../../../gen/parley/account/v1/limits_pb.ts';
import {
  type AuditEntry as AuditEntryMessage,
  AuditEntrySchema,
  type Key as KeyMessage,
  KeySchema,
} from '../../../gen/parley/admin/v1/admin_pb.ts';
import { keyKinds } from '../access/keys.ts';
import { formatCredits } from '../billing/money.ts';
import { describeLimits } from '../limits/messages.ts';
import type { AuditEntry } from '../ports/audit.ts';
import type { Key } from '../ports/keys.ts';
import type { LedgerEntry } from '../ports/ledger.ts';

/** A key without its secret. */
export function describeKey(key: Key, limitCounts: LimitCount[] = []): KeyMessage {
  return create(KeySchema, {
    id: key.id,
    name: key.name,
    prefix: keyKinds[key.kind],
    lastFour: key.lastFour,
    scopes: [...key.scopes],
    createdAt: timestampFromMs(key.createdAtMs),
    limitCounts,
    ...(key.limits && { limits: describeLimits(key.limits) }),
    ...(key.lastUsedAtMs !== undefined && { lastUsedAt: timestampFromMs(key.lastUsedAtMs) }),
    ...(key.accountId !== undefined && { accountId: key.accountId }),
    ...(key.expiresAtMs !== undefined && { expiresAt: timestampFromMs(key.expiresAtMs) }),
    ...(key.revokedAtMs !== undefined && { revokedAt: timestampFromMs(key.revokedAtMs) }),
  });
}

export function describeEntry(entry: LedgerEntry): LedgerEntryMessage {
  const { id, kind, amount, reason, reference } = entry;
  return create(LedgerEntrySchema, {
    id,
    kind,
    amountNanoCredits: amount,
    amount: formatCredits(amount),
    reason,
    reference,
    createdAt: timestampFromMs(entry.createdAtMs),
  });
}

export function describeAudit(entry: AuditEntry): AuditEntryMessage {
  const { id, actor, action, target } = entry;
  return create(AuditEntrySchema, {
    id,
    actor,
    action,
    target,
    details: JSON.stringify(entry.details),
    createdAt: timestampFromMs(entry.createdAtMs),
  });
}
