import type { FairUseReservation } from '../../../core/entities/reservation.ts';
import { reserveUnits, type Units } from '../../decisions.ts';
import type { Counter } from '../../tables/fair-use.ts';
import { InUse } from './in-use.ts';

/** The monthly counters in use: what is in the database, and what running requests reserve. */
export class FairUseUnits {
  readonly #counters: InUse<string, Units>;

  /** @param usedUnits reads the units that ended requests have used */
  constructor(usedUnits: (counter: Counter) => number) {
    this.#counters = new InUse((name) => ({ used: usedUnits(counterOf(name)), reserved: 0 }));
  }

  /** Used and reserved units. Undefined if the counter is not in use: then the database knows. */
  taken(counter: Counter): number | undefined {
    const units = this.#counters.peek(nameOf(counter));
    return units && units.used + units.reserved;
  }

  /** False, and no change, if the month's units would exceed the limit. */
  reserve(counter: Counter, wanted: FairUseReservation): boolean {
    const name = nameOf(counter);
    if (reserveUnits(this.#counters.use(name), wanted)) return true;
    this.#counters.release(name);
    return false;
  }

  /** Raises a reservation from `before` units. False, and no change, if that exceeds the limit. */
  extend(counter: Counter, before: number, wanted: FairUseReservation): boolean {
    const known = this.#counters.peek(nameOf(counter));
    return known !== undefined && reserveUnits(known, wanted, before);
  }

  /** Ends a reservation once the used units are durable, or without any. */
  release(counter: Counter, reserved: number, used = 0): void {
    const name = nameOf(counter);
    const known = this.#counters.peek(name);
    if (known === undefined) return;
    known.reserved -= reserved;
    known.used += used;
    this.#counters.release(name);
  }
}

function nameOf({ accountId, month }: Counter): string {
  return `${month} ${accountId}`;
}

function counterOf(name: string): Counter {
  const [month, accountId] = name.split(' ') as [Counter['month'], Counter['accountId']];
  return { accountId, month };
}
