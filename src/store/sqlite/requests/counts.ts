import { type Count, type CountedAmount, fits, usedOf } from '../../../core/limits/counts.ts';
import type { RecordEnd } from '../../../core/ports/usage.ts';
import { InUse } from './in-use.ts';

interface Amounts {
  used: bigint;
  reserved: bigint;
  /** Whether the database has its row. */
  hasRow: boolean;
}

/** The counts in use: the amounts in the database, and those that running requests reserve. */
export class LimitCounts {
  readonly #counts: InUse<string, Amounts>;

  /** @param usedAmount reads what ended requests have used; undefined if there is no row */
  constructor(usedAmount: (count: Count) => bigint | undefined) {
    this.#counts = new InUse((name) => {
      const used = usedAmount(countOf(name));
      return { used: used ?? 0n, reserved: 0n, hasRow: used !== undefined };
    });
  }

  /** The counts whose rows are not known to be there. */
  withoutRow(counted: readonly CountedAmount[]): readonly CountedAmount[] {
    return counted.filter((one) => this.#counts.peek(nameOf(one))?.hasRow !== true);
  }

  /** Used and reserved. Undefined if the count is not in use: then the database knows. */
  taken(count: Count): bigint | undefined {
    const known = this.#counts.peek(nameOf(count));
    return known && known.used + known.reserved;
  }

  /** All or none: false, and no change, if one of them would exceed its limit. */
  reserve(counted: readonly CountedAmount[]): boolean {
    const known = counted.map((one) => this.#counts.use(nameOf(one)));
    const isWithin = counted.every(({ amount, limit }, at) => known[at] && fits(known[at], amount, limit));
    counted.forEach((one, at) => {
      if (!isWithin) this.#counts.release(nameOf(one));
      else if (known[at]) known[at].reserved += one.amount;
    });
    return isWithin;
  }

  /** Raises reserved amounts to others of the same counts. False, and no change, if one would exceed its limit. */
  extend(before: readonly CountedAmount[], after: readonly CountedAmount[]): boolean {
    const raised = after.map((one, at) => ({ ...one, amount: one.amount - (before[at]?.amount ?? 0n) }));
    const known = raised.map((one) => this.#counts.peek(nameOf(one)));
    if (!raised.every(({ amount, limit }, at) => known[at] && fits(known[at], amount, limit))) return false;
    raised.forEach(({ amount }, at) => {
      if (known[at]) known[at].reserved += amount;
    });
    return true;
  }

  /** Ends reservations once what was used is durable. @param end as it was recorded; undefined if nothing was used */
  release(counted: readonly CountedAmount[], end?: RecordEnd): void {
    for (const one of counted) {
      const name = nameOf(one);
      const known = this.#counts.peek(name);
      if (known === undefined) continue;
      known.reserved -= one.amount;
      const used = end ? usedOf(one, end) : 0n;
      known.used += used;
      if (used > 0n) known.hasRow = true;
      this.#counts.release(name);
    }
  }
}

function nameOf({ owner, unit, period }: Count): string {
  return `${owner} ${unit} ${period}`;
}

function countOf(name: string): Count {
  const [owner, unit, period] = name.split(' ') as [string, Count['unit'], string];
  return { owner, unit, period };
}
