import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises';
import { sql } from 'kysely';
import type { AuditEntry } from '../../core/entities/audit.ts';
import type { EndUserCut, Prunable, PruneCut, Pruned } from '../../core/entities/usage.ts';
import { firstRequestId } from '../../core/values/ids.ts';
import { type Dialect, isWithin } from '../sql/dialect.ts';
import type { Executor } from '../sql/executor.ts';
import { type Step, step } from '../sql/job.ts';
import { query, statement } from '../sql/statement.ts';
import { remove } from './audit.ts';
import { answersAtOnce, removeOldAnswers } from './idempotency.ts';
import { steps } from './usage-steps.ts';
import { dayText, isSummable } from './usage-sums.ts';

/** Records that one transaction removes. Concurrent requests wait for it. */
const recordsAtOnce = 250;

/** The records with an id above `after`, up to `last`. */
interface Stretch {
  readonly after: string;
  readonly last: string;
  readonly beforeMs: bigint;
}

/** Ids begin with their time, so a range of ids finds the oldest records. */
function isPrunable(stretch: Stretch, dialect: Dialect) {
  const { beforeMs } = stretch;
  return sql<boolean>`${isWithin(dialect, stretch)} and started_at_ms < ${beforeMs} and state <> 'started'
    and ${isSummable}`;
}

/** Counts the rows that a cut would remove. */
export async function countPrunable(executor: Executor, cut: PruneCut): Promise<Prunable> {
  return executor.readSnapshot(async (snapshot) => {
    const beforeMs = BigInt(cut.recordsBeforeMs);
    let records = 0;
    for await (const stretch of steps(snapshot, 'usage_records', {
      after: '',
      until: firstRequestId(cut.recordsBeforeMs),
    })) {
      const found = await snapshot.get(countOf, { ...stretch, beforeMs });
      records += Number(found?.prunable ?? 0n);
      await nextTurn();
    }
    const answerCount = statement((p: { beforeMs: bigint }) =>
      query
        .selectFrom('kept_answers')
        .select(sql<bigint>`count(*)`.as('count'))
        .where('created_at_ms', '<', p.beforeMs),
    );
    const answers = await snapshot.get(answerCount, { beforeMs: BigInt(cut.answersBeforeMs) });
    return { records, answers: Number(answers?.count ?? 0n) };
  });
}

const stretchEnd = statement((p: Stretch, dialect) =>
  query
    .selectFrom('usage_records')
    .select('id')
    .where(isPrunable(p, dialect))
    .orderBy(dialect.idOrder)
    .limit(1)
    .offset(recordsAtOnce - 1),
);
/** The number of records in a range, and of those that may be removed. */
export const countOf = statement((p: Stretch, dialect) =>
  query
    .selectFrom('usage_records')
    .select([
      sql<bigint>`count(*)`.as('all'),
      sql<bigint>`count(*) filter (where ${isPrunable(p, dialect)})`.as('prunable'),
    ])
    .where(isWithin(dialect, p)),
);
const removeRecords = statement((p: Stretch, dialect) => dialect.deleteRecords(isPrunable(p, dialect)));

/**
 * Removes usage records and keeps their sums, while requests continue.
 * @param audit is written with the first removal. Undefined: it was written
 */
export async function prune(
  executor: Executor,
  cut: PruneCut,
  recordsMax: number,
  audit: AuditEntry | undefined,
): Promise<Pruned> {
  const removed = { records: 0, answers: 0 };
  const removals = removalsOf(executor, cut);
  for (let next = await removals.next(); ; ) {
    if (next.done || removed.records >= recordsMax) return { ...removed, isComplete: next.done === true };
    const startedAtMs = performance.now();
    const [kind, removal] = next.value;
    const entry = removed.records + removed.answers === 0 ? audit : undefined;
    const count = await remove(executor, removal, entry);
    removed[kind] += count;
    next = await removals.next(count);
    // Pauses for as long as the step took, so that requests can run.
    if (!next.done) await sleep(performance.now() - startedAtMs);
  }
}

/** The steps that remove records, then answers. Each gets the number of rows that the one before has removed. */
async function* removalsOf(
  executor: Executor,
  { recordsBeforeMs, answersBeforeMs }: PruneCut,
): AsyncGenerator<readonly [kind: keyof Prunable, removal: Step], void, number> {
  const all = { last: firstRequestId(recordsBeforeMs), beforeMs: BigInt(recordsBeforeMs) };
  for (let after: string | undefined = ''; after !== undefined; ) {
    const end: string | undefined = (await executor.get(stretchEnd, { ...all, after }))?.id;
    yield ['records', step(removeRecords, { ...all, after, last: end ?? all.last }, 'stop')];
    after = end;
  }
  const removal = step(removeOldAnswers, { beforeMs: BigInt(answersBeforeMs) }, 'stop');
  while ((yield ['answers', removal]) >= answersAtOnce);
}

/** Counts of end users that one transaction looks at. */
const countsAtOnce = 1_000;
/** Sorts after all end users. */
const ownersEnd = 'usr_g';
interface Owners {
  readonly above: string;
  readonly upTo: string;
}
const lastOwner = statement((p: Pick<Owners, 'above'>) =>
  query
    .selectFrom('limit_counts')
    .select('owner')
    .where('owner', '>', p.above)
    .where('owner', '<', sql.lit(ownersEnd))
    .orderBy('owner')
    .limit(1)
    .offset(sql.lit(countsAtOnce - 1)),
);
/** A month sorts before its days. */
const removeOldCounts = statement((p: Owners & { before: string }) =>
  query
    .deleteFrom('limit_counts')
    .where('owner', '>', p.above)
    .where('owner', '<=', p.upTo)
    .where('period', '<', p.before),
);

/** Removes old counts of the next end users. Returns the last of them, or undefined at the end. */
export async function pruneEndUsers(
  executor: Executor,
  { after: above, beforeMs }: EndUserCut,
): Promise<string | undefined> {
  const startedAtMs = performance.now();
  const found = await executor.get(lastOwner, { above });
  const stretch = { above, upTo: found?.owner ?? ownersEnd, before: dayText(beforeMs) };
  await remove(executor, step(removeOldCounts, stretch));
  // Pauses for as long as the step took, so that requests can run.
  await sleep(performance.now() - startedAtMs);
  return found?.owner;
}
