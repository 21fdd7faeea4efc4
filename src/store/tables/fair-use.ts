import { sql } from 'kysely';
import type { Month } from '../../core/billing/fair-use.ts';
import type { AccountId } from '../../core/ids.ts';
import { type Connection, prepare, query } from '../sqlite/database.ts';

interface Counter {
  readonly accountId: AccountId;
  readonly month: Month;
}

/** The monthly counters. The write itself checks the limit, never a read before it. */
export class FairUse {
  readonly #reserve;
  readonly #settle;
  readonly #units;

  constructor(connection: Connection) {
    this.#reserve = prepare(connection, (p: Counter & { units: number; limitUnits: number }) =>
      query
        .insertInto('fair_use')
        .columns(['account_id', 'month', 'used_units', 'reserved_units'])
        .expression(
          query
            .selectNoFrom([
              sql<string>`${p.accountId}`.as('account_id'),
              sql<string>`${p.month}`.as('month'),
              sql<number>`0`.as('used_units'),
              sql<number>`${p.units}`.as('reserved_units'),
            ])
            .where(sql<boolean>`${p.units} <= ${p.limitUnits}`),
        )
        .onConflict((conflict) =>
          conflict
            .columns(['account_id', 'month'])
            .doUpdateSet({ reserved_units: sql`fair_use.reserved_units + excluded.reserved_units` })
            .where(
              sql<boolean>`fair_use.used_units + fair_use.reserved_units + excluded.reserved_units <= ${p.limitUnits}`,
            ),
        ),
    );
    this.#settle = prepare(connection, (p: Counter & { reservedUnits: number; usedUnits: number }) =>
      query
        .updateTable('fair_use')
        .set({
          reserved_units: sql`reserved_units - ${p.reservedUnits}`,
          used_units: sql`used_units + ${p.usedUnits}`,
        })
        .where('account_id', '=', p.accountId)
        .where('month', '=', p.month),
    );
    this.#units = prepare(connection, (p: Counter) =>
      query
        .selectFrom('fair_use')
        .select(sql<bigint>`used_units + reserved_units`.as('units'))
        .where('account_id', '=', p.accountId)
        .where('month', '=', p.month),
    );
  }

  /** False, and no change, if the month's units would exceed the limit. `units` are 0 or more. */
  reserve(counter: Counter, units: number, limitUnits: number): boolean {
    return this.#reserve.run({ ...counter, units, limitUnits }).changes > 0;
  }

  /** Releases a reservation and counts the units that were used. */
  settle(counter: Counter, reservedUnits: number, usedUnits: number): void {
    this.#settle.run({ ...counter, reservedUnits, usedUnits });
  }

  /** The units of the month, used and reserved. */
  units(counter: Counter): number {
    return Number(this.#units.get(counter)?.units ?? 0n);
  }
}
