import { setTimeout as sleep } from 'node:timers/promises';
import { sql } from 'kysely';
import { firstRequestId } from '../../core/ids.ts';
import type { AuditEntry } from '../../core/ports/audit.ts';
import type { Prunable, PruneCut, Pruned } from '../../core/ports/usage.ts';
import { type Connection, prepare, query } from '../sqlite/database.ts';
import type { GroupCommit } from '../sqlite/group-commit.ts';
import type { AuditTrail } from '../tables/audit.ts';
import { answersAtOnce, removeOldAnswers } from '../tables/idempotency-records.ts';
import { recordDimensions, recordSums, sumColumns } from '../usage/sums.ts';

/** Records that go in one transaction, which requests that come meanwhile wait for. */
const recordsAtOnce = 250;
/** A report of an upstream may say anything. A record with more tokens than this stays, so that no sum can overflow. */
const tokensMax = 2n ** 40n;

const rollupKey = ['day', 'account', 'operation', 'model', 'state'] as const;
const keyColumns = ['day', 'account_id', 'operation', 'model', 'state'] as const;

/** The records of an id above `after`, up to `last`. */
interface Stretch {
  readonly after: string;
  readonly last: string;
  readonly beforeMs: bigint;
}

/** What is next to be removed: records of an id above `after`, then answers, then nothing. */
type Place = { readonly after: string } | 'answers' | 'end';

interface Step extends Prunable {
  readonly next: Place;
}

/** Whether a record of the stretch goes. Ids begin with their time, so that they lead to the oldest records. */
export function isPrunable({ after, last, beforeMs }: Stretch) {
  return sql<boolean>`id > ${after} and id <= ${last} and started_at_ms < ${beforeMs} and state <> 'started'
    and coalesce(prompt_tokens, 0) < ${tokensMax} and coalesce(completion_tokens, 0) < ${tokensMax}`;
}

/** Removes usage records, and keeps what they came to, while requests go on. */
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
      // As long again belongs to requests alone.
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
  const dimensions = rollupKey.map((name, at) => recordDimensions[name].as(keyColumns[at] ?? name));
  const records = query
    .selectFrom('usage_records')
    .select([...dimensions, ...recordSums])
    .where(isPrunable(stretch))
    .groupBy(rollupKey.map((name) => recordDimensions[name]));
  const added = sumColumns.map((column) => [
    column,
    sql`usage_rollups.${sql.ref(column)} + excluded.${sql.ref(column)}`,
  ]);
  return query
    .insertInto('usage_rollups')
    .columns([...keyColumns, ...sumColumns])
    .expression(records)
    .onConflict((conflict) => conflict.columns(keyColumns).doUpdateSet(Object.fromEntries(added)));
}
