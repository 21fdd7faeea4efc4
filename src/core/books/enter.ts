/** Enters loads and adjustments. */
import type { EntryOutcome, LedgerEntry } from '../entities/ledger.ts';
import { nanoCreditsMax } from '../values/money.ts';
import type { Funds } from './books.ts';

/**
 * The reason why an entry changes nothing; undefined if it may be entered.
 * @param earlier the entry with the same reference
 */
export function outcomeBefore(
  { balance, held }: Funds,
  entry: LedgerEntry,
  earlier: LedgerEntry | undefined,
): EntryOutcome | undefined {
  if (earlier) return isSame(earlier, entry) ? 'entered' : 'conflict';
  const { amount } = entry;
  if (amount < 0n && balance - held < -amount) return 'insufficient_credits';
  return balance + amount > nanoCreditsMax ? 'balance_too_large' : undefined;
}

function isSame(one: LedgerEntry, other: LedgerEntry): boolean {
  return one.kind === other.kind && one.amount === other.amount && one.reason === other.reason;
}
