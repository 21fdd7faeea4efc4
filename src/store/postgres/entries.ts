import { outcomeBefore } from '../../core/books/enter.ts';
import type { AuditEntry } from '../../core/entities/audit.ts';
import type { EntryOutcome, LedgerEntry } from '../../core/entities/ledger.ts';
import type { Operation } from './requests/groups.ts';

/** A load or an adjustment. */
export function enteringOf(entry: LedgerEntry, audit: AuditEntry): Operation<EntryOutcome> {
  const { accountId, amount } = entry;
  return {
    accountId,
    entry,
    decide(rows, writes) {
      const funds = rows.funds(accountId);
      const outcome = outcomeBefore(funds, entry, rows.entry(entry));
      if (outcome) return outcome;
      funds.balance += amount;
      rows.addEntry(entry);
      writes.insertedEntries.push(entry);
      writes.audits.push(audit);
      return 'entered';
    },
  };
}
