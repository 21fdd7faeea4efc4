import { sql } from 'kysely';
import type { Count } from '../../core/limits/counts.ts';
import { type Addition, type Step, step } from '../job.ts';
import { query, statement } from '../statement.ts';

/** What ended requests have used of a count. */
export const usedAmount = statement((p: Count) =>
  query
    .selectFrom('limit_counts')
    .select('used')
    .where('owner', '=', p.owner)
    .where('unit', '=', p.unit)
    .where('period', '=', p.period),
).map(({ used }) => used);
const open = statement((p: Count) =>
  query
    .insertInto('limit_counts')
    .values({ owner: p.owner, unit: p.unit, period: p.period, used: 0 })
    .onConflict((conflict) => conflict.doNothing()),
);
const add = statement((p: Count & { used: bigint }) =>
  query
    .updateTable('limit_counts')
    .set({ used: sql`used + ${p.used}` })
    .where('owner', '=', p.owner)
    .where('unit', '=', p.unit)
    .where('period', '=', p.period),
);

/** Creates the count if it is missing. */
export function openCount({ owner, unit, period }: Count): Step {
  return step(open, { owner, unit, period });
}

export function addUsed({ owner, unit, period }: Count, used: bigint): Addition {
  return { statement: add, amounts: [used], row: [owner, unit, period] };
}
