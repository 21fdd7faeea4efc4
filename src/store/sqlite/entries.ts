import type { AuditEntry } from '../../core/entities/audit.ts';
import type { EntryOutcome, LedgerEntry } from '../../core/entities/ledger.ts';
import { nanoCreditsMax } from '../../core/values/money.ts';
import { insertAudit } from '../entities/audit.ts';
import { addCredits, entryByReference, insertEntry } from '../entities/ledger.ts';
import type { Reader } from './database/reader.ts';
import type { Credits } from './requests/credits.ts';
import type { Writer } from './writer/writer.ts';

interface EntriesDeps {
  readonly reader: Reader;
  readonly credits: Credits;
  readonly writer: Writer;
}

/** Loads and adjustments. They are entered one after the other, so that each sees the references of those before it. */
export class Entries {
  readonly #deps: EntriesDeps;
  #last: Promise<unknown> = Promise.resolve();

  constructor(deps: EntriesDeps) {
    this.#deps = deps;
  }

  enter(entry: LedgerEntry, audit: AuditEntry): Promise<EntryOutcome> {
    const outcome = this.#last.then(() => this.#enter(entry, audit));
    // A failed one has told its own caller.
    this.#last = outcome.catch(() => undefined);
    return outcome;
  }

  async #enter(entry: LedgerEntry, audit: AuditEntry): Promise<EntryOutcome> {
    const { reader, credits, writer } = this.#deps;
    const { accountId, amount } = entry;
    const earlier = reader.get(entryByReference, entry);
    if (earlier) return isSame(earlier, entry) ? 'entered' : 'conflict';
    // An amount that is taken is held until its entry is durable; one that is given is available from then on.
    const hold = amount < 0n ? -amount : 0n;
    if (!credits.hold(accountId, hold)) return 'insufficient_credits';
    let debit = 0n;
    try {
      const { balance = 0n } = credits.of(accountId) ?? {};
      if (balance + amount > nanoCreditsMax) return 'balance_too_large';
      const additions = [addCredits(accountId, amount, 0n)];
      await writer.run({ steps: [insertEntry(entry), insertAudit(audit)], additions });
      debit = -amount;
    } finally {
      credits.release(accountId, hold, debit);
    }
    return 'entered';
  }
}

function isSame(one: LedgerEntry, other: LedgerEntry): boolean {
  return one.kind === other.kind && one.amount === other.amount && one.reason === other.reason;
}
