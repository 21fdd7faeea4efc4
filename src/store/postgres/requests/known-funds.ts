import type { Funds } from '../../../core/books/books.ts';
import type { AccountId } from '../../../core/values/ids.ts';
import type { FundsRow } from './read-set.ts';

/** Number of accounts in memory. They take about 3 MB. */
const accountsMax = 10_000;
/** Reads in a row that found what this node wrote before, until it relies on that. */
const steadyReads = 3;

interface Known {
  funds: Readonly<Funds>;
  /** Number of those reads so far. */
  steady: number;
}

/**
 * Funds of accounts as this node has written them last. While no other node uses the accounts, a group can decide on these, and needs one
 * round trip, in which the database checks them.
 */
export class KnownFunds {
  readonly #known = new Map<AccountId, Known>();

  /** The funds of these accounts; undefined if one of them has to be read. */
  of(ids: ReadonlySet<AccountId>): ReadonlyMap<AccountId, Readonly<Funds>> | undefined {
    const found = new Map<AccountId, Readonly<Funds>>();
    for (const id of ids) {
      const known = this.#known.get(id);
      if (known === undefined || known.steady < steadyReads) return undefined;
      found.set(id, known.funds);
    }
    return found;
  }

  /** Notes the rows of a group that was committed. */
  note(rows: ReadonlyMap<AccountId, FundsRow>): void {
    for (const [id, { before, now }] of rows) {
      const known = this.#known.get(id);
      if (known) {
        known.steady = before && isSame(known.funds, before) ? known.steady + 1 : 0;
        known.funds = now;
        continue;
      }
      if (this.#known.size >= accountsMax) this.#known.clear();
      this.#known.set(id, { funds: now, steady: 0 });
    }
  }

  /** Drops what may be wrong. */
  forget(ids: Iterable<AccountId>): void {
    for (const id of ids) this.#known.delete(id);
  }
}

function isSame(one: Readonly<Funds>, other: Readonly<Funds>): boolean {
  return (
    one.balance === other.balance && one.held === other.held && one.policyVersion === other.policyVersion
  );
}
