/** Compares the sums of ended days with the records of these days, for `parley doctor`. */
import { setImmediate as nextTurn } from 'node:timers/promises';
import { sql } from 'kysely';
import { type Diagnostic, ok, problem } from '../../core/values/diagnostics.ts';
import { recordsAsRollups, type SumColumn, sumColumns, sumsOf } from '../entities/usage-rollups.ts';
import { idsBetween, steps } from '../entities/usage-steps.ts';
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
  readonly until: string;
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
type Sums = Readonly<Record<SumColumn, bigint | null>>;

/** The sums over all accounts, and those of each. */
const storedSums = statement((p: { day: string }) => {
  const of = (table: 'usage_sums' | 'usage_day_sums') =>
    query.selectFrom(table).select(sumsOf(sumColumns)).where('day', '=', p.day);
  return of('usage_day_sums').unionAll(of('usage_sums'));
});
const prunedSums = statement((p: { day: string }) =>
  query.selectFrom('usage_rollups').select(sumsOf(sumColumns)).where('day', '=', p.day),
);
const recordSums = statement((p: Day & { readonly last: string }, dialect) => {
  const records = recordsAsRollups(dialect)
    .where(isWithin(dialect, p))
    .where(sql<boolean>`started_at_ms >= ${p.fromMs} and started_at_ms < ${p.untilMs}`);
  return query.selectFrom(records.as('records')).select(sumsOf(sumColumns));
});
/** A day that is summed again has sums that differ for a while. */
const lateDay = statement((p: { number: bigint }) =>
  query.selectFrom('late_days').select('number').where('number', '=', p.number).limit(1),
);

/** @param snapshot of one moment */
export async function diagnoseDaySums(snapshot: Queries): Promise<Diagnostic> {
  let compared = 0;
  let records = 0;
  for (let before = afterAll; compared < daysMax; compared++) {
    const found = await snapshot.get(dayBefore, { day: before });
    records += Number(found?.requests ?? 0);
    if (found === undefined || records > recordsMax) break;
    if (await differs(snapshot, dayOf(found.day))) return wrong(found.day);
    before = found.day;
  }
  return ok('sums of days', `The sums of the newest ${compared} ended days equal those of their records.`);
}

/** Reads the records in steps: requests run between them. */
async function differs(snapshot: Queries, day: Day): Promise<boolean> {
  const parts = await snapshot.all(prunedSums, day);
  for await (const step of steps(snapshot, day)) {
    parts.push(...(await snapshot.all(recordSums, { ...day, ...step })));
    await nextTurn();
  }
  const counted = textOf(parts);
  const stored = await snapshot.all(storedSums, day);
  if (stored.every((sums) => textOf([sums]) === counted)) return false;
  return (await snapshot.get(lateDay, day)) === undefined;
}

/** The sums of several parts, without null, which is the sum of no rows. */
function textOf(parts: readonly Sums[]): string {
  return sumColumns.map((column) => parts.reduce((sum, part) => sum + (part[column] ?? 0n), 0n)).join(' ');
}

function dayOf(day: string): Day {
  const fromMs = Date.parse(day);
  const untilMs = fromMs + dayMs;
  const { since: after = '', until = '' } = idsBetween(fromMs, untilMs);
  const range = { after, until, fromMs: BigInt(fromMs), untilMs: BigInt(untilMs) };
  return { day, number: BigInt(fromMs / dayMs), ...range };
}

function wrong(day: string): Diagnostic {
  return problem(
    'sums of days',
    `The sums of ${day} are not those of its records, so totals of usage with this day are wrong.`,
    `Keep a copy of the database, then let it be summed again: insert into late_days values (${Date.parse(day) / dayMs}, 0). A running server does so within ten minutes.`,
  );
}
