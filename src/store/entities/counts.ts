import { sql } from 'kysely';
import type { Count, CountedAmount } from '../../core/entities/count.ts';
import { type Addition, type Step, step } from '../sql/job.ts';
import { query, statement } from '../sql/statement.ts';

/** The amount of a count that ended requests have used. */
export const usedAmount = statement((p: Count) =>
  query
    .selectFrom('limit_counts')
    .select('used')
    .where('owner', '=', p.owner)
    .where('unit', '=', p.unit)
    .where('period', '=', p.period),
).map(({ used }) => used);
/** PostgreSQL: the counts of these owners in these periods. */
export const countsOfOwners = statement((p: { owners: readonly string[]; periods: readonly string[] }) =>
  query
    .selectFrom('limit_counts')
    .select(['owner', 'unit', 'period', 'used', 'reserved'])
    .where(sql<boolean>`owner = any(${p.owners}) and period = any(${p.periods})`),
);
const open = statement(
  (p: Count) => sql`insert into limit_counts (owner, unit, period, used)
    values (${p.owner}, ${p.unit}, ${p.period}, 0) on conflict do nothing`,
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

/** The counts of a running request, as text in its started record. */
export function countedToText(counted: readonly CountedAmount[]): string | null {
  if (counted.length === 0) return null;
  return JSON.stringify(
    counted.map((one) => ({ ...one, amount: String(one.amount), limit: String(one.limit) })),
  );
}

/** The counts of a running request from its started record. */
export function countedOf(text: string | null): readonly CountedAmount[] {
  const texts = text === null ? [] : (JSON.parse(text) as readonly CountedText[]);
  return texts.map((one) => ({ ...one, amount: BigInt(one.amount), limit: BigInt(one.limit) }));
}

type CountedText = Count & Readonly<Record<'amount' | 'limit', string>>;
