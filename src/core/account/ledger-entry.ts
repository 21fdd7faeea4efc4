import { create } from '@bufbuild/protobuf';
import { timestampFromMs } from '@bufbuild/protobuf/wkt';
import {
  type LedgerEntry as LedgerEntryMessage,
  LedgerEntrySchema,
} from '../../../gen/parley/account/v1/account_pb.ts';
import type { LedgerEntry } from '../entities/ledger.ts';
import { formatCredits } from '../values/money.ts';

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
