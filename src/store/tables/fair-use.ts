import { sql } from 'kysely';
import type { Month } from '../../core/billing/fair-use.ts';
import type { AccountId } from '../../core/ids.ts';
import { type Connection, prepare, query } from '../sqlite/database.ts';

interface Counter {
  readonly accountId: AccountId;
  readonly month: Month;
}

/** The monthly counters. The limit is kept by the write itself, never by a read before it. */
export class FairUse {
  readonly #open;
  readonly #reserve;
  readonly #release;
  readonly #sum;

  constructor(connection: Connection) {
    this.#open = prepare(connection, (p: Counter) =>
      query
        .insertInto('fair_use')
        .values({ account_id: p.accountId, month: p.month, used_units: 0, reserved_units: 0 })
        .onConflict((conflict) => conflict.doNothing()),
    );
    this.#reserve = prepare(connection, (p: Counter & { units: number; limitUnits: number }) =>
      query
        .updateTable('fair_use')
        .set({ reserved_units: sql`reserved_units + ${p.units}` })
        .where('account_id', '=', p.accountId)
        .where('month', '=', p.month)
        .where(sql<boolean>`used_units + reserved_units + ${p.units} <= ${p.limitUnits}`),
    );
    this.#release = prepare(connection, (p: Counter & { reservedUnits: number; usedUnits: number }) =>
      query
        .updateTable('fair_use')
        .set({
          reserved_units: sql`reserved_units - ${p.reservedUnits}`,
          used_units: sql`used_units + ${p.usedUnits}`,
        })
        .where('account_id', '=', p.accountId)
        .where('month', '=', p.month),
    );
    this.#sum = prepare(connection, (p: Counter) =>
      query
        .selectFrom('fair_use')
        .select(sql<bigint>`used_units + reserved_units`.as('units'))
        .where('account_id', '=', p.accountId)
        .where('month', '=', p.month),
    );
  }

  /** False, and no change, where the units would pass the limit. */
  reserve(counter: Counter, units: number, limitUnits: number): boolean {
    if (this.#reserve.run({ ...counter, units, limitUnits }).changes > 0) return true;
    if (this.#open.run(counter).changes === 0) return false;
    return this.#reserve.run({ ...counter, units, limitUnits }).changes > 0;
  }

  /** Gives back what was reserved and spends what was used. */
  release(counter: Counter, reservedUnits: number, usedUnits: number): void {
    this.#release.run({ ...counter, reservedUnits, usedUnits });
  }

  units(counter: Counter): number {
    return Number(this.#sum.get(counter)?.units ?? 0n);
  }
}
