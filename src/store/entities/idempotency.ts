import { type ExpressionBuilder, type RawBuilder, sql } from 'kysely';
import {
  type ClaimEnd,
  type ClaimOutcome,
  type IdempotencyClaim,
  type IdempotencyStore,
  recordBytes,
} from '../../core/entities/idempotency.ts';
import type { AccountId } from '../../core/values/ids.ts';
import type { Dialect } from '../sql/dialect.ts';
import type { Executor } from '../sql/executor.ts';
import { hasChanged, type JobResult, rowOf, type Step, step } from '../sql/job.ts';
import type { Database } from '../sql/schema.ts';
import { query, statement } from '../sql/statement.ts';

/** An answer can have 8 MB, and all other writes wait while it is removed. */
export const answersAtOnce = 20;

/** Removes up to `answersAtOnce` of the records that were created before `beforeMs`. */
export const removeOldAnswers = statement((p: { readonly beforeMs: bigint }, dialect) =>
  removeSome(sql`created_at_ms < ${p.beforeMs}`, dialect),
);
/** The same for the answers of an account, up to and including `lastMs`. */
const removeAnswersOf = statement((p: { readonly accountId: AccountId; readonly lastMs: bigint }, dialect) =>
  removeSome(
    sql`account_id = ${p.accountId} and created_at_ms <= ${p.lastMs} and answer is not null`,
    dialect,
  ),
);
/** The time of the newest answer that exceeds the limit together with all newer ones. */
const newestBeyond = statement((p: { readonly accountId: AccountId; readonly bytesMax: bigint }) => {
  const sums = query
    .selectFrom('kept_answers')
    .select([
      'created_at_ms',
      sql<bigint>`sum(octet_length(answer) + ${sql.lit(recordBytes)}) over (order by created_at_ms desc)`.as(
        'bytes',
      ),
    ])
    .where('account_id', '=', p.accountId)
    .where('answer', 'is not', null);
  return query
    .selectFrom(sums.as('sums'))
    .select('created_at_ms')
    .where('bytes', '>', p.bytesMax)
    .orderBy('created_at_ms', 'desc')
    .limit(1);
});

/** Skips locked rows, as two transactions that remove at once would wait for each other. */
function removeSome(which: RawBuilder<unknown>, { rowPlace, skipLocked }: Dialect) {
  return query.deleteFrom('kept_answers').where(
    sql<boolean>`${rowPlace} in (select ${rowPlace} from kept_answers
      where ${which} limit ${sql.lit(answersAtOnce)} ${skipLocked})`,
  );
}

/** A claim and, on PostgreSQL, its node. */
type Claim = IdempotencyClaim & { readonly nodeEpoch?: bigint };

const claim = statement((p: Required<Claim> & { beforeMs: bigint }, dialect) => {
  const first = {
    ...dialect.ofNode(p.nodeEpoch),
    fingerprint: p.fingerprint,
    request_id: p.requestId,
    created_at_ms: p.nowMs,
    answer: null,
  };
  return query
    .insertInto('kept_answers')
    .values({ account_id: p.accountId, operation: p.operation, key: p.key, ...first })
    .onConflict((conflict) =>
      conflict
        .columns(['account_id', 'operation', 'key'])
        .doUpdateSet(first)
        .where('kept_answers.created_at_ms', '<', p.beforeMs),
    );
});
const find = statement((p: IdempotencyClaim) =>
  query.selectFrom('kept_answers').select(['fingerprint', 'answer']).where(isOfKey(p)),
);
const keep = statement((p: IdempotencyClaim & { answer: Buffer }) =>
  query
    .updateTable('kept_answers')
    .set({ answer: p.answer })
    .where(isOfKey(p))
    .where('request_id', '=', p.requestId),
);
const drop = statement((p: IdempotencyClaim) =>
  query.deleteFrom('kept_answers').where(isOfKey(p)).where('request_id', '=', p.requestId),
);
const dropUnfinished = statement((_: object) => query.deleteFrom('kept_answers').where('answer', 'is', null));

/** The record of a key, from any request. */
function isOfKey({ accountId, operation, key }: Pick<IdempotencyClaim, 'accountId' | 'operation' | 'key'>) {
  return ({ and }: ExpressionBuilder<Database, 'kept_answers'>) =>
    and({ account_id: accountId, operation, key });
}

/** @param claim claims a key, as in `IdempotencyStore` */
export function idempotencyStore(executor: Executor, claim: IdempotencyStore['claim']): IdempotencyStore {
  return {
    claim,
    async removeOldest(accountId, bytesMax) {
      // As a job: with SQLite, reading all answers of an account must not block the main thread.
      const found = await executor.run({
        steps: [step(newestBeyond, { accountId, bytesMax: BigInt(bytesMax) })],
      });
      const row = rowOf<{ readonly created_at_ms: bigint }>(found[0]);
      if (row === undefined) return;
      const removal = step(removeAnswersOf, { accountId, lastMs: BigInt(row.created_at_ms) });
      while (hasChanged(await executor.run({ steps: [removal] })));
    },
  };
}

/** Claims a key, and finds its record. Also removes some expired records. */
export function claimKey(wanted: Claim): Step[] {
  const beforeMs = BigInt(wanted.forgetBeforeMs);
  return [
    step(claim, { nodeEpoch: 0n, ...wanted, beforeMs }),
    step(find, wanted),
    step(removeOldAnswers, { beforeMs }),
  ];
}

/** @param result of `claimKey` */
export function claimOutcome({ fingerprint }: IdempotencyClaim, result: JobResult): ClaimOutcome {
  if (hasChanged(result)) return { kind: 'claimed' };
  const first = rowOf<FoundRecord>(result[1]);
  if (first === undefined || first.fingerprint !== fingerprint) return { kind: 'conflict' };
  return first.answer === null ? { kind: 'running' } : { kind: 'kept', answer: first.answer };
}

interface FoundRecord {
  readonly fingerprint: string;
  readonly answer: Uint8Array | null;
}

/** Stores the answer of the request that claimed the key, or frees the key. */
export function endClaim({ claim, answer }: ClaimEnd): Step {
  return answer === undefined ? step(drop, claim) : step(keep, { ...claim, answer: Buffer.from(answer) });
}

/** Frees the keys of requests that a dead process left open. */
export function dropUnfinishedClaims(): Step {
  return step(dropUnfinished, {});
}
