import { outcomeBefore } from '../../core/books/enter.ts';
import type { AuditEntry } from '../../core/entities/audit.ts';
import type { EntryOutcome, LedgerEntry } from '../../core/entities/ledger.ts';
import { insertAudit } from '../entities/audit.ts';
import { addCredits, entryByReference } from '../entities/ledger.ts';
import type { Reader } from './database/reader.ts';
import type { ReadSet } from './requests/read-set.ts';
import type { Rows } from './requests/rows.ts';
import type { Writer } from './writer/writer.ts';

interface EntriesDeps {
  readonly reader: Reader;
  readonly readSet: ReadSet;
  readonly writer: Writer;
  readonly rows: Rows;
}

/** Loads and adjustments. They are entered one after the other, so that each sees earlier references. */
export class Entries {
  readonly #deps: EntriesDeps;
  #last: Promise<unknown> = Promise.resolve();

  constructor(deps: EntriesDeps) {
    this.#deps = deps;
  }

  enter(entry: LedgerEntry, audit: AuditEntry): Promise<EntryOutcome> {
    const outcome = this.#last.then(() => this.#enter(entry, audit));
    // A failed one has rejected to its own caller.
    this.#last = outcome.catch(() => undefined);
    return outcome;
  }

  async #enter(entry: LedgerEntry, audit: AuditEntry): Promise<EntryOutcome> {
    const { reader, readSet, writer, rows } = this.#deps;
    const { accountId, amount } = entry;
    const funds = readSet.funds(accountId);
    const outcome = outcomeBefore(funds, entry, reader.get(entryByReference, entry));
    if (outcome) return outcome;
    // An amount that is taken is held until its entry is durable. An amount that is given is available afterwards.
    const hold = amount < 0n ? -amount : 0n;
    const inUse = { accountId, hold, counted: [] };
    readSet.use(inUse);
    funds.held += hold;
    try {
      const additions = [addCredits(accountId, amount, 0n)];
      await writer.run({ steps: [...rows.insertEntry(entry), insertAudit(audit)], additions });
      funds.balance += amount;
    } finally {
      funds.held -= hold;
      readSet.release(inUse);
    }
    return 'entered';
  }
}
