import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises';
import { sql } from 'kysely';
import type { AuditEntry } from '../../core/entities/audit.ts';
import type { Prunable, PruneCut, Pruned } from '../../core/entities/usage.ts';
import { firstRequestId } from '../../core/values/ids.ts';
import type { Executor } from '../sql/executor.ts';
import { type Step, step } from '../sql/job.ts';
import { type Dialect, query, statement } from '../sql/statement.ts';
import { insertAudit } from './audit.ts';
import { answersAtOnce, removeOldAnswers } from './idempotency.ts';
import { recordsAsRollups, rollupKey, sumColumns, sums } from './usage-rollups.ts';
import { steps } from './usage-steps.ts';

/** Records that one transaction removes; concurrent requests wait for it. */
const recordsAtOnce = 250;
/** An upstream may report any number. A record with more tokens stays, so that no sum can overflow. */
const tokensMax = 2n ** 40n;

/** The records with an id above `after`, up to `last`. */
interface Stretch {
  readonly after: string;
  readonly last: string;
  readonly beforeMs: bigint;
}

/** The next to remove: records with an id above `after`, then answers. */
type Place = { readonly after: string } | 'answers' | 'end';

interface Removed extends Prunable {
  readonly next: Place;
}

/** Ids begin with their time, so a range of ids finds the oldest records. */
function isPrunable({ after, last, beforeMs }: Stretch) {
  return sql<boolean>`id > ${after} and id <= ${last} and started_at_ms < ${beforeMs} and state <> 'started'
    and coalesce(prompt_tokens, 0) < ${tokensMax} and coalesce(completion_tokens, 0) < ${tokensMax}`;
}

/** Counts what a cut would remove. */
export async function countPrunable(executor: Executor, cut: PruneCut): Promise<Prunable> {
  return executor.readSnapshot(async (snapshot) => {
    const beforeMs = BigInt(cut.recordsBeforeMs);
    const count = sql<bigint>`count(*)`.as('count');
    const recordCount = statement((p: Stretch) =>
      query.selectFrom('usage_records').select(count).where(isPrunable(p)),
    );
    let records = 0;
    for await (const stretch of steps(snapshot, { after: '', until: firstRequestId(cut.recordsBeforeMs) })) {
      const found = await snapshot.get(recordCount, { ...stretch, beforeMs });
      records += Number(found?.count ?? 0n);
      await nextTurn();
    }
    const answerCount = statement((p: { beforeMs: bigint }) =>
      query.selectFrom('kept_answers').select(count).where('created_at_ms', '<', p.beforeMs),
    );
    const answers = await snapshot.get(answerCount, { beforeMs: BigInt(cut.answersBeforeMs) });
    return { records, answers: Number(answers?.count ?? 0n) };
  });
}

const stretchEnd = statement((p: Stretch) =>
  query
    .selectFrom('usage_records')
    .select('id')
    .where(isPrunable(p))
    .orderBy('id')
    .limit(1)
    .offset(recordsAtOnce - 1),
);
export const rollUpRecords = statement(rollUp);
/** The records of a stretch, and those of them that may be removed. */
export const countOf = statement((p: Stretch) =>
  query
    .selectFrom('usage_records')
    .select([
      sql<bigint>`count(*)`.as('all'),
      sql<bigint>`count(*) filter (where ${isPrunable(p)})`.as('prunable'),
    ])
    .where('id', '>', p.after)
    .where('id', '<=', p.last),
);
const removeRecords = statement((p: Stretch) => query.deleteFrom('usage_records').where(isPrunable(p)));

/**
 * Removes usage records and keeps their sums, while requests go on.
 * @param audit is written with the first removal. Undefined: it was written
 */
export async function prune(
  executor: Executor,
  cut: PruneCut,
  recordsMax: number,
  audit: AuditEntry | undefined,
): Promise<Pruned> {
  let [records, answers] = [0, 0];
  let place: Place = { after: '' };
  while (place !== 'end' && records < recordsMax) {
    const startedAtMs = performance.now();
    const entry = records + answers === 0 ? audit : undefined;
    const removed: Removed =
      place === 'answers'
        ? await pruneAnswers(executor, cut, entry)
        : await pruneRecords(executor, cut, place.after, entry);
    records += removed.records;
    answers += removed.answers;
    place = removed.next;
    // Requests get as much time as the step took.
    if (place !== 'end') await sleep(performance.now() - startedAtMs);
  }
  return { records, answers, isComplete: place === 'end' };
}

async function pruneRecords(
  executor: Executor,
  { recordsBeforeMs }: PruneCut,
  after: string,
  audit?: AuditEntry,
): Promise<Removed> {
  const all = { after, last: firstRequestId(recordsBeforeMs), beforeMs: BigInt(recordsBeforeMs) };
  const found = await executor.get(stretchEnd, all);
  const stretch = { ...all, last: found?.id ?? all.last };
  const removal = [step(rollUpRecords, stretch), step(removeRecords, stretch, 'stop')];
  const records = await remove(executor, removal, audit);
  return { records, answers: 0, next: found === undefined ? 'answers' : { after: found.id } };
}

async function pruneAnswers(
  executor: Executor,
  { answersBeforeMs }: PruneCut,
  audit?: AuditEntry,
): Promise<Removed> {
  const removal = step(removeOldAnswers, { beforeMs: BigInt(answersBeforeMs) }, 'stop');
  const answers = await remove(executor, [removal], audit);
  return { records: 0, answers, next: answers < answersAtOnce ? 'end' : 'answers' };
}

/** @param steps the last one removes @returns the number of removed rows */
async function remove(executor: Executor, steps: readonly Step[], audit?: AuditEntry): Promise<number> {
  const all = audit ? [...steps, insertAudit(audit)] : steps;
  const results = await executor.run({ steps: all, isExclusive: true });
  const removed = results[steps.length - 1];
  return removed && 'changes' in removed ? removed.changes : 0;
}

function rollUp(stretch: Stretch, dialect: Dialect) {
  const records = recordsAsRollups(dialect).where(isPrunable(stretch)).as('records');
  const added = sumColumns.map((column) => [
    column,
    sql`usage_rollups.${sql.ref(column)} + excluded.${sql.ref(column)}`,
  ]);
  return query
    .insertInto('usage_rollups')
    .columns([...rollupKey, ...sumColumns])
    .expression(
      query
        .selectFrom(records)
        .select([...rollupKey, ...sums])
        .groupBy(rollupKey),
    )
    .onConflict((conflict) => conflict.columns(rollupKey).doUpdateSet(Object.fromEntries(added)));
}
