/** Keys and audit entries as administrators see them. */
import { create } from '@bufbuild/protobuf';
import { timestampFromMs } from '@bufbuild/protobuf/wkt';
import type { LimitCount } from '../../../gen/parley/account/v1/limits_pb.ts';
import {
  type AuditEntry as AuditEntryMessage,
  AuditEntrySchema,
  type Key as KeyMessage,
  KeySchema,
} from '../../../gen/parley/admin/v1/admin_pb.ts';
import type { AuditEntry } from '../entities/audit.ts';
import type { Key } from '../entities/key.ts';
import { describeLimits } from '../limits/messages.ts';
import { keyKinds } from '../values/key-secret.ts';

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

/** A new key, whose secret is known only now. */
export interface IssuedKey {
  readonly key: Key;
  readonly secret: string;
}

export function describeIssued({ key, secret }: IssuedKey) {
  return { key: describeKey(key), secret };
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
