/** Sums of ended days, so that totals read no records of these days. Days are numbered from 1970, in UTC. */
import { randomInt } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { sql } from 'kysely';
import type { Executor, Queries } from '../sql/executor.ts';
import { isWithin } from '../sql/id-order.ts';
import { hasChanged, type Step, step } from '../sql/job.ts';
import { columnsOf, query, statement } from '../sql/statement.ts';
import { addSums, isSummable, recordsAsRollups, type SumsTable } from './usage-rollups.ts';
import { firstRecordMs, idLeadMs, idsBetween, steps } from './usage-steps.ts';

export const dayMs = 86_400_000;

/**
 * Triggers note records that are written after the end of their day. A day is summed this long after its end, when all transactions that
 * began before it have ended.
 */
const delaySeconds = 3_600;
const tables = ['usage_sums', 'usage_day_sums'] as const;

interface Numbered {
  readonly number: bigint;
}

interface DayOfRecords {
  readonly after: string;
  readonly last: string;
  readonly fromMs: bigint;
  readonly untilMs: bigint;
}

const sumsEnd = statement((_: object) => query.selectFrom('usage_sums_end').select('number'));
const lateDays = statement((_: object) =>
  query
    .selectFrom('late_days')
    .select('number')
    .distinct()
    .where('number', '<', query.selectFrom('usage_sums_end').select('number'))
    .orderBy('number'),
);
/** The clock of the database decides, as it does in triggers. */
const dueEnd = statement((_: object, dialect) =>
  dialect === 'sqlite'
    ? sql<Numbered>`select (unixepoch() - ${sql.lit(delaySeconds)}) / 86400 as number`
    : sql<Numbered>`select floor((extract(epoch from now()) - ${sql.lit(delaySeconds)}) / 86400)::bigint as number`,
);
const firstRollup = statement((_: object) =>
  query.selectFrom('usage_rollups').select('day').orderBy('day').limit(1),
);
const noteDays = statement(
  (p: { first: bigint; end: bigint }) => sql<object>`insert into late_days
  with recursive days (number) as (
    select cast(${p.first} as bigint) union all select number + 1 from days where number + 1 < ${p.end})
  select number, 0 from days where number < ${p.end} on conflict do nothing`,
);
const moveEnd = statement((p: { end: bigint }) => query.updateTable('usage_sums_end').set({ number: p.end }));
const takeNotes = statement((p: Numbered) => query.deleteFrom('late_days').where('number', '=', p.number));
const addNote = statement((p: Numbered & { note: bigint }) =>
  query.insertInto('late_days').values(columnsOf(p, ['number', 'note'])),
);
const ownNote = (p: Numbered & { note: bigint }) => sql<boolean>`number = ${p.number} and note = ${p.note}`;
const keepNote = statement((p: Numbered & { note: bigint }) =>
  query.updateTable('late_days').set({ note: sql`note` }).where(ownNote(p)),
);
const removeNote = statement((p: Numbered & { note: bigint }) =>
  query.deleteFrom('late_days').where(ownNote(p)),
);
const recordsOf = (p: DayOfRecords) =>
  sql<boolean>`started_at_ms >= ${p.fromMs} and started_at_ms < ${p.untilMs}`;
const unsummable = statement((p: DayOfRecords, dialect) =>
  query
    .selectFrom('usage_records')
    .select('id')
    .where(isWithin(dialect, p))
    .where(recordsOf(p))
    .where(sql<boolean>`not (${isSummable})`)
    .limit(1),
);
const clear = tables.map((table) =>
  statement((p: { day: string }) => sql<object>`delete from ${sql.table(table)} where day = ${p.day}`),
);
const addPruned = tables.map((table) =>
  statement((p: { day: string }) =>
    addSums(table, query.selectFrom('usage_rollups').selectAll().where('day', '=', p.day)),
  ),
);
const addRecords = tables.map((table) =>
  statement((p: DayOfRecords, dialect) =>
    addSums(table, recordsAsRollups(dialect).where(isWithin(dialect, p)).where(recordsOf(p))),
  ),
);

export const dayText = (ms: number): string => new Date(ms).toISOString().slice(0, 10);

/** Sums the days that have ended, and those with late records. Another node may do the same. */
export async function sumEndedDays(executor: Executor, signal: AbortSignal): Promise<void> {
  await noteEnded(executor);
  for (const { number } of (await executor.all(lateDays, {})).reverse()) {
    if (signal.aborted) return;
    await sumDay(executor, number, signal);
  }
}

/** Notes each ended day to be summed. */
async function noteEnded(executor: Executor): Promise<void> {
  const { number: end = 0n } = (await executor.get(dueEnd, {})) ?? {};
  const { number: before = 0n } = (await executor.get(sumsEnd, {})) ?? {};
  if (before >= end) return;
  const firstMs = (await executor.get(firstRecordMs, {})) ?? Infinity;
  const rollup = await executor.get(firstRollup, {});
  const oldest = Math.min(
    firstMs - idLeadMs,
    rollup ? Date.parse(rollup.day) : Infinity,
    Number(end) * dayMs,
  );
  const oldestDay = BigInt(Math.max(0, Math.floor(oldest / dayMs)));
  const first = oldestDay > before ? oldestDay : before;
  await run(executor, [step(noteDays, { first, end }), step(moveEnd, { end })]);
}

/** While the day is noted, totals read its records. A note by others, of which a late record is one, remains. */
async function sumDay(executor: Executor, number: bigint, signal: AbortSignal): Promise<void> {
  const note = -BigInt(randomInt(1, 2 ** 47));
  const fromMs = Number(number) * dayMs;
  const untilMs = fromMs + dayMs;
  const day = { day: dayText(fromMs) };
  await run(executor, [
    step(takeNotes, { number }, 'stop'),
    step(addNote, { number, note }),
    ...[...clear, ...addPruned].map((write) => step(write, day)),
  ]);
  const { since: after = '', until = '' } = idsBetween(fromMs, untilMs);
  for await (const part of steps(executor, { after, until })) {
    const startedAtMs = performance.now();
    const records = { ...part, fromMs: BigInt(fromMs), untilMs: BigInt(untilMs) };
    if (signal.aborted || (await executor.get(unsummable, records)) !== undefined) return;
    // Without the note, another node sums the day.
    const writes = [step(keepNote, { number, note }, 'stop'), ...addRecords.map((add) => step(add, records))];
    if (!hasChanged(await run(executor, writes))) return;
    // Pauses for as long as the step took, so that requests can run.
    await sleep(performance.now() - startedAtMs);
  }
  await run(executor, [step(removeNote, { number, note })]);
}

function run(executor: Executor, steps: readonly Step[]) {
  return executor.run({ steps, isExclusive: true });
}

/** A range of days, in milliseconds. Undefined: no bound. */
export interface Span {
  readonly fromMs: number | undefined;
  readonly untilMs: number | undefined;
  /** The tables that have its usage, besides its records if the days are not summed. */
  readonly table: Exclude<SumsTable, 'usage_day_sums'>;
}

/** The days before `end` are summed, except for the late ones. */
export async function summedDays(snapshot: Queries) {
  const { number: end = 0n } = (await snapshot.get(sumsEnd, {})) ?? {};
  const late = await snapshot.all(lateDays, {});
  return { end, late: late.map(({ number }) => number) };
}

/** Divides a range of days into those that are summed and others. */
export async function spansOf(
  snapshot: Queries,
  {
    fromMs,
    untilMs = Infinity,
  }: { readonly fromMs: number | undefined; readonly untilMs: number | undefined },
): Promise<Span[]> {
  const { end, late } = await summedDays(snapshot);
  const summedUntil = Math.min(Number(end) * dayMs, untilMs);
  const spans: Span[] = [];
  let at = fromMs ?? -Infinity;
  const add = (until: number, table: Span['table']) => {
    const last = spans.at(-1);
    if (until <= at) return;
    const bound = Number.isFinite(until) ? until : undefined;
    if (last?.table === table) spans[spans.length - 1] = { ...last, untilMs: bound };
    else spans.push({ fromMs: Number.isFinite(at) ? at : undefined, untilMs: bound, table });
    at = until;
  };
  for (const number of late) {
    const lateMs = Number(number) * dayMs;
    if (lateMs >= summedUntil) break;
    add(lateMs, 'usage_sums');
    add(lateMs + dayMs, 'usage_rollups');
  }
  add(summedUntil, 'usage_sums');
  add(untilMs, 'usage_rollups');
  return spans;
}
