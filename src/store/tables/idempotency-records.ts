import { type ExpressionBuilder, sql } from 'kysely';
import type { ClaimEnd, ClaimOutcome, IdempotencyClaim } from '../../core/ports/idempotency.ts';
import { hasChanged, type JobResult, type Step, step } from '../job.ts';
import { query, statement } from '../statement.ts';
import type { Database } from './schema.ts';

/** An answer can have 8 MB, and all other writes wait while it is removed. */
export const answersAtOnce = 20;

/** Removes up to `answersAtOnce` of the records that were created before `beforeMs`. */
export const removeOldAnswers = statement((p: { readonly beforeMs: bigint }, dialect) => {
  const isSqlite = dialect === 'sqlite';
  const row = sql.ref(isSqlite ? 'rowid' : 'ctid');
  // Two that remove at once would wait for each other.
  const lock = isSqlite ? sql`` : sql`for update skip locked`;
  return query.deleteFrom('kept_answers').where(
    sql<boolean>`${row} in (select ${row} from kept_answers
      where created_at_ms < ${p.beforeMs} limit ${sql.lit(answersAtOnce)} ${lock})`,
  );
});
/** A claim, and on PostgreSQL the node that makes it. */
type Claim = IdempotencyClaim & { readonly nodeEpoch?: bigint };

const claim = statement((p: Required<Claim> & { beforeMs: bigint }, dialect) => {
  const first = {
    ...(dialect === 'postgres' && { node_epoch: p.nodeEpoch }),
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

/** The record of a key, of whichever request. */
function isOfKey({ accountId, operation, key }: Pick<IdempotencyClaim, 'accountId' | 'operation' | 'key'>) {
  return ({ and }: ExpressionBuilder<Database, 'kept_answers'>) =>
    and({ account_id: accountId, operation, key });
}

/** Claims a key, and finds its record. Also removes some that have expired. */
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
  const found = result[1];
  const first = found && 'row' in found ? (found.row as FoundRecord | undefined) : undefined;
  if (first === undefined || first.fingerprint !== fingerprint) return { kind: 'conflict' };
  return first.answer === null ? { kind: 'running' } : { kind: 'kept', answer: first.answer };
}

interface FoundRecord {
  readonly fingerprint: string;
  readonly answer: Uint8Array | null;
}

/** Keeps the answer of the request that claimed the key, or frees the key. */
export function endClaim({ claim, answer }: ClaimEnd): Step {
  return answer === undefined ? step(drop, claim) : step(keep, { ...claim, answer: Buffer.from(answer) });
}

/** Frees the keys of requests that a dead process left open. */
export function dropUnfinishedClaims(): Step {
  return step(dropUnfinished, {});
}
