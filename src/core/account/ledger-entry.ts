import { create } from '@bufbuild/protobuf';
import { timestampFromMs } from '@bufbuild/protobuf/wkt';
import {
  type LedgerEntry as LedgerEntryMessage,
  LedgerEntrySchema,
} from '../../../gen/parley/account/v1/account_pb.ts';
import { formatCredits } from '../billing/money.ts';
import type { LedgerEntry } from '../ports/ledger.ts';

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
