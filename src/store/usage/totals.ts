/** Reads sums of usage as of one moment, in small steps: the process is free for requests in between. */
import { setImmediate as nextTurn } from 'node:timers/promises';
import Sqlite from 'better-sqlite3';
import { sql } from 'kysely';
import { nanoCredits } from '../../core/billing/money.ts';
import { firstRequestId } from '../../core/ids.ts';
import type { Prunable, PruneCut, TotalsQuery, UsageTotal } from '../../core/ports/usage.ts';
import { isPrunable } from '../maintenance/prune.ts';
import { type Connection, prepare, query } from '../sqlite/database.ts';
import {
  recordDimensions,
  recordSums,
  rollupDimensions,
  rollupSums,
  type SumColumn,
  sumColumns,
} from './sums.ts';

/** Records summed in one step. So many counts of tokens, each at most 2^53, cannot overflow either. */
const recordsAtOnce = 1_000;
/** An id is made before its record starts: how long before, at most, with a generous margin. */
const idLeadMs = 3_600_000;
const afterAll = '~';
/** Groups even where nothing is told apart: then no rows make no sums, rather than sums of nothing. */
const always = sql`''`;

type Sums = Record<SumColumn, bigint>;
type Group = { readonly of: UsageTotal['of']; readonly sums: Sums };

/** @param path of the database, of which a connection of its own is opened */
export async function readTotals(
  path: string,
  wanted: TotalsQuery,
): Promise<readonly UsageTotal[] | 'too_many'> {
  return atOneMoment(path, async (snapshot) => {
    const groups = new Map<string, Group>();
    for (const rows of [rollupSlices(snapshot, wanted), recordSlices(snapshot, wanted)]) {
      for (const slice of rows) {
        for (const row of slice) add(groups, wanted, row);
        if (groups.size > wanted.totalsMax) return 'too_many';
        await nextTurn();
      }
    }
    const inOrder = [...groups].sort(([one], [other]) => (one < other ? -1 : 1));
    return inOrder.map(([, group]) => toTotal(group));
  });
}

/** What a cut would remove. @param path as for `readTotals` */
export async function readPrunable(path: string, cut: PruneCut): Promise<Prunable> {
  return atOneMoment(path, async (snapshot) => {
    const until = firstRequestId(cut.recordsBeforeMs);
    const count = prepare(snapshot, (p: { after: string; last: string; beforeMs: bigint }) =>
      query.selectFrom('usage_records').select(sql<bigint>`count(*)`.as('count')).where(isPrunable(p)),
    );
    let records = 0;
    for (const { after, last } of stretches(snapshot, { after: '', until, accountId: undefined })) {
      records += Number(count.get({ after, last, beforeMs: BigInt(cut.recordsBeforeMs) })?.count ?? 0n);
      await nextTurn();
    }
    const answers = prepare(snapshot, (p: { beforeMs: bigint }) =>
      query
        .selectFrom('kept_answers')
        .select(sql<bigint>`count(*)`.as('count'))
        .where('created_at_ms', '<', p.beforeMs),
    ).get({ beforeMs: BigInt(cut.answersBeforeMs) });
    return { records, answers: Number(answers?.count ?? 0n) };
  });
}

/** Nothing of what is written meanwhile is seen, and nobody waits for it. */
async function atOneMoment<T>(path: string, read: (snapshot: Connection) => Promise<T>): Promise<T> {
  const snapshot = new Sqlite(path, { readonly: true, fileMustExist: true });
  try {
    snapshot.defaultSafeIntegers(true);
    snapshot.exec('begin');
    return await read(snapshot);
  } finally {
    snapshot.close();
  }
}

interface Range {
  readonly after: string;
  readonly until: string;
  readonly accountId: string | undefined;
}

/** Parts a range of ids into stretches of at most so many records, which a step can read. */
function* stretches(snapshot: Connection, { after, until, accountId }: Range) {
  const end = prepare(snapshot, (p: { after: string }) => {
    const ids = query
      .selectFrom('usage_records')
      .select('id')
      .where('id', '>', p.after)
      .where('id', '<=', until);
    const own = accountId === undefined ? ids : ids.where('account_id', '=', accountId);
    return own
      .orderBy('id')
      .limit(1)
      .offset(recordsAtOnce - 1);
  });
  let from = after;
  for (;;) {
    const last: string | undefined = end.get({ after: from })?.id;
    yield { after: from, last: last ?? until };
    if (last === undefined) return;
    from = last;
  }
}

type Row = Sums & Record<string, string | bigint>;

function* recordSlices(snapshot: Connection, { accountId, fromMs, untilMs, groupBy }: TotalsQuery) {
  const sums = prepare(snapshot, (p: { after: string; last: string }) => {
    let rows = query
      .selectFrom('usage_records')
      .select([...groupBy.map((name) => recordDimensions[name].as(name)), ...recordSums])
      .where('id', '>', p.after)
      .where('id', '<=', p.last);
    if (accountId !== undefined) rows = rows.where('account_id', '=', accountId);
    if (fromMs !== undefined) rows = rows.where('started_at_ms', '>=', BigInt(fromMs));
    if (untilMs !== undefined) rows = rows.where('started_at_ms', '<', BigInt(untilMs));
    return rows.groupBy([always, ...groupBy.map((name) => recordDimensions[name])]);
  });
  const after = fromMs === undefined ? '' : firstRequestId(Math.max(0, fromMs - idLeadMs));
  const until = untilMs === undefined ? afterAll : firstRequestId(untilMs + idLeadMs);
  for (const stretch of stretches(snapshot, { after, until, accountId })) yield sums.all(stretch) as Row[];
}

function* rollupSlices(snapshot: Connection, { accountId, fromMs, untilMs, groupBy }: TotalsQuery) {
  const nextDay = prepare(snapshot, (p: { from: string; until: string }) =>
    query
      .selectFrom('usage_rollups')
      .select('day')
      .where('day', '>=', p.from)
      .where('day', '<', p.until)
      .orderBy('day')
      .limit(1),
  );
  const sums = prepare(snapshot, (p: { day: string }) => {
    let rows = query
      .selectFrom('usage_rollups')
      .select([...groupBy.map((name) => rollupDimensions[name].as(name)), ...rollupSums])
      .where('day', '=', p.day);
    if (accountId !== undefined) rows = rows.where('account_id', '=', accountId);
    return rows.groupBy([always, ...groupBy.map((name) => rollupDimensions[name])]);
  });
  const until = untilMs === undefined ? afterAll : dayOf(untilMs);
  let from = fromMs === undefined ? '' : dayOf(fromMs);
  for (;;) {
    const day: string | undefined = nextDay.get({ from, until })?.day;
    if (day === undefined) return;
    yield sums.all({ day }) as Row[];
    // Above the day, and below the next.
    from = `${day}~`;
  }
}

function dayOf(ms: number): string {
  return new Date(ms).toISOString().slice(0, 10);
}

function add(groups: Map<string, Group>, { groupBy }: TotalsQuery, row: Row): void {
  const values = groupBy.map((name) => String(row[name]));
  const key = values.join('\0');
  const group = groups.get(key);
  if (group === undefined) {
    const of = Object.fromEntries(groupBy.map((name, at) => [name, values[at]]));
    const sums = Object.fromEntries(sumColumns.map((column) => [column, row[column]])) as Sums;
    groups.set(key, { of, sums });
  } else {
    for (const column of sumColumns) group.sums[column] += row[column];
  }
}

function toTotal({ of, sums }: Group): UsageTotal {
  return {
    of,
    requests: sums.requests,
    characters: sums.characters,
    audioMsIn: sums.audio_ms_in,
    audioMsOut: sums.audio_ms_out,
    promptTokens: sums.prompt_tokens,
    completionTokens: sums.completion_tokens,
    fairUseUnits: sums.fair_use_units,
    cost: nanoCredits(sums.cost_nano_credits),
  };
}
