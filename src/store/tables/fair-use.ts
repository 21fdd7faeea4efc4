import { sql } from 'kysely';
import type { AccountId } from '../../core/values/ids.ts';
import type { Month } from '../../core/values/month.ts';
import { type Addition, type Step, step } from '../sql/job.ts';
import { query, statement } from '../sql/statement.ts';

/** A monthly counter of an account. */
export interface Counter {
  readonly accountId: AccountId;
  readonly month: Month;
}

/** The units that ended requests have used. */
export const usedUnits = statement((p: Counter) =>
  query
    .selectFrom('fair_use')
    .select('used_units as used')
    .where('account_id', '=', p.accountId)
    .where('month', '=', p.month),
).map(({ used }) => Number(used));
/** Units of a month, used and reserved, where the database knows both. */
export const takenUnits = statement((p: Counter) =>
  query
    .selectFrom('fair_use')
    .select(['used_units', 'reserved_units'])
    .where('account_id', '=', p.accountId)
    .where('month', '=', p.month),
).map(({ used_units, reserved_units }) => Number(used_units + reserved_units));
const open = statement((p: Counter) =>
  query
    .insertInto('fair_use')
    .values({ account_id: p.accountId, month: p.month, used_units: 0, reserved_units: 0 })
    .onConflict((conflict) => conflict.doNothing()),
);
const add = statement((p: Counter & { used: bigint; reserved: bigint }) =>
  query
    .updateTable('fair_use')
    .set({ used_units: sql`used_units + ${p.used}`, reserved_units: sql`reserved_units + ${p.reserved}` })
    .where('account_id', '=', p.accountId)
    .where('month', '=', p.month),
);

/** Creates the counter if it is missing. */
export function openCounter(counter: Counter): Step {
  return step(open, counter);
}

export function addUnits({ accountId, month }: Counter, used: number, reserved: number): Addition {
  return { statement: add, amounts: [BigInt(used), BigInt(reserved)], row: [accountId, month] };
}
