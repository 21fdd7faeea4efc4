import { type Count, type CountedAmount, fits, usedOf } from '../../../core/entities/count.ts';
import type { RecordEnd } from '../../../core/entities/usage.ts';
import type { Budget } from '../../decisions.ts';
import { InUse } from './in-use.ts';

/** A count in use. */
interface Known {
  readonly name: string;
  used: bigint;
  reserved: bigint;
  /** Whether the database has its row. */
  hasRow: boolean;
}

/** An amount that a running request reserves, and its count. */
export interface ReservedAmount {
  readonly counted: CountedAmount;
  readonly known: Known;
}

/** The counts in use: the amounts in the database, and those that running requests reserve. */
export class LimitCounts {
  readonly #counts: InUse<string, Known>;

  /** @param usedAmount reads what ended requests have used; undefined if there is no row */
  constructor(usedAmount: (count: Count) => bigint | undefined) {
    this.#counts = new InUse((name) => {
      const used = usedAmount(countOf(name));
      return { name, used: used ?? 0n, reserved: 0n, hasRow: used !== undefined };
    });
  }

  /** Used and reserved. Undefined if the count is not in use: then the database knows. */
  taken(count: Count): bigint | undefined {
    const known = this.#counts.peek(nameOf(count));
    return known && known.used + known.reserved;
  }

  /** All or none: undefined, and no change, if one of them would exceed its limit. */
  reserve(amounts: readonly CountedAmount[]): readonly ReservedAmount[] | undefined {
    const all = amounts.map((counted) => ({ counted, known: this.#counts.use(nameOf(counted)) }));
    if (!all.every(({ counted, known }) => fits(known, counted.amount, counted.limit))) {
      for (const { known } of all) this.#counts.release(known.name);
      return undefined;
    }
    for (const { counted, known } of all) known.reserved += counted.amount;
    return all;
  }

  /** Raises reserved amounts to others of the same counts. Undefined, and no change, if one would exceed its limit. */
  extend(
    reserved: readonly ReservedAmount[],
    amounts: readonly CountedAmount[],
  ): readonly ReservedAmount[] | undefined {
    const all = reserved.map((one, at) => ({ ...one, after: amounts[at] ?? one.counted }));
    const more = ({ counted, after }: (typeof all)[number]) => after.amount - counted.amount;
    if (!all.every((one) => fits(one.known, more(one), one.after.limit))) return undefined;
    for (const one of all) one.known.reserved += more(one);
    return all.map(({ known, after }) => ({ known, counted: after }));
  }

  /** Ends reservations once what was used is durable. @param end as it was recorded */
  release(reserved: readonly ReservedAmount[], end: RecordEnd): void {
    for (const { counted, known } of reserved) {
      known.reserved -= counted.amount;
      const used = usedOf(counted, end);
      known.used += used;
      // Its row was opened with the record.
      known.hasRow = true;
      this.#counts.release(known.name);
    }
  }
}

/** The budgets among reserved amounts. */
export function budgetsOf(reserved: readonly ReservedAmount[]): Budget[] {
  const credits = reserved.filter(({ counted }) => counted.unit === 'credits');
  return credits.map(({ known, counted }) => ({ count: known, limit: counted.limit }));
}

function nameOf({ owner, unit, period }: Count): string {
  return `${owner} ${unit} ${period}`;
}

function countOf(name: string): Count {
  const [owner, unit, period] = name.split(' ') as [string, Count['unit'], string];
  return { owner, unit, period };
}
