/** Compares the sums of ended days with the records of these days, for `parley doctor`. */
import { sql } from 'kysely';
import { type Diagnostic, ok, problem } from '../../core/values/diagnostics.ts';
import { recordsAsRollups, sumColumns, sumsOf } from '../entities/usage-rollups.ts';
import { idsBetween } from '../entities/usage-steps.ts';
import { dayMs } from '../entities/usage-sums.ts';
import type { Queries } from '../sql/executor.ts';
import { isWithin } from '../sql/id-order.ts';
import { afterAll } from '../sql/schema.ts';
import { query, statement } from '../sql/statement.ts';

/** The newest days are compared, up to so many, and until so many records are read. */
const daysMax = 7;
const recordsMax = 100_000;

interface Day {
  readonly day: string;
  readonly number: bigint;
  readonly after: string;
  readonly last: string;
  readonly fromMs: bigint;
  readonly untilMs: bigint;
}

const dayBefore = statement((p: { day: string }) =>
  query
    .selectFrom('usage_day_sums')
    .select(['day', sql<bigint>`sum(requests)`.as('requests')])
    .where('day', '<', p.day)
    .groupBy('day')
    .orderBy('day', 'desc')
    .limit(1),
);
/** Different sums of a day. A day that is summed again has sums that differ for a while. */
const differing = statement((p: Day, dialect) => {
  const stored = (table: 'usage_sums' | 'usage_day_sums') =>
    query.selectFrom(table).select(sumsOf(sumColumns)).where('day', '=', p.day);
  const counted = recordsAsRollups(dialect)
    .where(isWithin(dialect, p))
    .where(sql<boolean>`started_at_ms >= ${p.fromMs} and started_at_ms < ${p.untilMs}`);
  const columns = sql.join(sumColumns.map((column) => sql.ref(column)));
  const pruned = sql`select ${columns} from usage_rollups where day = ${p.day}`;
  const sums = sql.join(sumsOf(sumColumns));
  return sql<{ readonly count: bigint }>`select count(*) as count
    from (select * from ${stored('usage_day_sums')} as of_all union select * from ${stored('usage_sums')} as of_each
      union select ${sums} from (select ${columns} from ${counted} as records union all ${pruned}) as usage) as sums
    where not exists (select 1 from late_days where number = ${p.number})`;
}).map(({ count }) => count > 1);

export async function diagnoseDaySums({ get }: Pick<Queries, 'get'>): Promise<Diagnostic> {
  let compared = 0;
  let records = 0;
  for (let before = afterAll; compared < daysMax; compared++) {
    const found = await get(dayBefore, { day: before });
    records += Number(found?.requests ?? 0);
    if (found === undefined || records > recordsMax) break;
    if (await get(differing, dayOf(found.day))) return wrong(found.day);
    before = found.day;
  }
  return ok('sums of days', `The sums of the newest ${compared} ended days equal those of their records.`);
}

function dayOf(day: string): Day {
  const fromMs = Date.parse(day);
  const untilMs = fromMs + dayMs;
  const { since = '', until = '' } = idsBetween(fromMs, untilMs);
  const range = { after: since, last: until, fromMs: BigInt(fromMs), untilMs: BigInt(untilMs) };
  return { day, number: BigInt(fromMs / dayMs), ...range };
}

function wrong(day: string): Diagnostic {
  return problem(
    'sums of days',
    `The sums of ${day} are not those of its records, so totals of usage with this day are wrong.`,
    `Keep a copy of the database, then let it be summed again: insert into late_days values (${Date.parse(day) / dayMs}, 0). A running server does so within ten minutes.`,
  );
}
