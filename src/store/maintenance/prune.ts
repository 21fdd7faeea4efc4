import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises';
import { sql } from 'kysely';
import { firstRequestId } from '../../core/ids.ts';
import type { AuditEntry } from '../../core/ports/audit.ts';
import type { Prunable, PruneCut, Pruned } from '../../core/ports/usage.ts';
import { type Connection, prepare, query } from '../sqlite/database.ts';
import type { GroupCommit } from '../sqlite/group-commit.ts';
import type { AuditTrail } from '../tables/audit.ts';
import { answersAtOnce, removeOldAnswers } from '../tables/idempotency-records.ts';
import { recordsAsRollups, rollupKey, sumColumns, sums } from '../usage/rollup-rows.ts';
import { readSnapshot, steps } from '../usage/snapshot.ts';

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

interface Step extends Prunable {
  readonly next: Place;
}

/** Ids begin with their time, so a range of ids finds the oldest records. */
function isPrunable({ after, last, beforeMs }: Stretch) {
  return sql<boolean>`id > ${after} and id <= ${last} and started_at_ms < ${beforeMs} and state <> 'started'
    and coalesce(prompt_tokens, 0) < ${tokensMax} and coalesce(completion_tokens, 0) < ${tokensMax}`;
}

/** Counts what a cut would remove. @param path of the database */
export async function countPrunable(path: string, cut: PruneCut): Promise<Prunable> {
  return readSnapshot(path, async (snapshot) => {
    const beforeMs = BigInt(cut.recordsBeforeMs);
    const count = sql<bigint>`count(*)`.as('count');
    const recordCount = prepare(snapshot, (p: Stretch) =>
      query.selectFrom('usage_records').select(count).where(isPrunable(p)),
    );
    let records = 0;
    for (const step of steps(snapshot, { after: '', until: firstRequestId(cut.recordsBeforeMs) })) {
      records += Number(recordCount.get({ ...step, beforeMs })?.count ?? 0n);
      await nextTurn();
    }
    const answers = prepare(snapshot, (p: { beforeMs: bigint }) =>
      query.selectFrom('kept_answers').select(count).where('created_at_ms', '<', p.beforeMs),
    ).get({ beforeMs: BigInt(cut.answersBeforeMs) });
    return { records, answers: Number(answers?.count ?? 0n) };
  });
}

/** Removes usage records and keeps their sums, while requests go on. */
export class Pruning {
  readonly #writes: GroupCommit;
  readonly #audit: AuditTrail;
  readonly #stretchEnd;
  readonly #rollUp;
  readonly #removeRecords;
  readonly #removeAnswers;

  constructor(connection: Connection, writes: GroupCommit, audit: AuditTrail) {
    this.#writes = writes;
    this.#audit = audit;
    this.#stretchEnd = prepare(connection, (p: Stretch) =>
      query
        .selectFrom('usage_records')
        .select('id')
        .where(isPrunable(p))
        .orderBy('id')
        .limit(1)
        .offset(recordsAtOnce - 1),
    );
    this.#rollUp = prepare(connection, rollUp);
    this.#removeRecords = prepare(connection, (p: Stretch) =>
      query.deleteFrom('usage_records').where(isPrunable(p)),
    );
    this.#removeAnswers = prepare(connection, removeOldAnswers);
  }

  async prune(cut: PruneCut, recordsMax: number, audit: AuditEntry): Promise<Pruned> {
    let [records, answers] = [0, 0];
    let place: Place = { after: '' };
    while (place !== 'end' && records < recordsMax) {
      const startedAtMs = performance.now();
      const step: Step = await this.#run(place, cut, records + answers === 0 ? audit : undefined);
      records += step.records;
      answers += step.answers;
      place = step.next;
      // Requests get as much time as the step took.
      if (place !== 'end') await sleep(performance.now() - startedAtMs);
    }
    return { records, answers, isComplete: place === 'end' };
  }

  #run(place: Exclude<Place, 'end'>, cut: PruneCut, audit: AuditEntry | undefined): Promise<Step> {
    return this.#writes.run(() => {
      const step = place === 'answers' ? this.#pruneAnswers(cut) : this.#pruneRecords(cut, place.after);
      if (audit && step.records + step.answers > 0) this.#audit.insert(audit);
      return step;
    });
  }

  #pruneRecords({ recordsBeforeMs }: PruneCut, after: string): Step {
    const all = { after, last: firstRequestId(recordsBeforeMs), beforeMs: BigInt(recordsBeforeMs) };
    const last = this.#stretchEnd.get(all)?.id;
    const stretch = { ...all, last: last ?? all.last };
    this.#rollUp.run(stretch);
    const records = this.#removeRecords.run(stretch).changes;
    return { records, answers: 0, next: last === undefined ? 'answers' : { after: last } };
  }

  #pruneAnswers({ answersBeforeMs }: PruneCut): Step {
    const answers = this.#removeAnswers.run({ beforeMs: BigInt(answersBeforeMs) }).changes;
    return { records: 0, answers, next: answers < answersAtOnce ? 'end' : 'answers' };
  }
}

function rollUp(stretch: Stretch) {
  const records = recordsAsRollups().where(isPrunable(stretch)).as('records');
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
