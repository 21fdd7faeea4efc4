import { type ExpressionBuilder, sql } from 'kysely';
import type { ClaimEnd, ClaimOutcome, IdempotencyClaim } from '../../core/ports/idempotency.ts';
import { type Connection, prepare, query } from '../sqlite/database.ts';
import type { Database } from './schema.ts';

/** An answer can have 8 MB, and all requests wait while it is removed. */
export const answersAtOnce = 20;

/** Removes up to `answersAtOnce` of the records that were created before `beforeMs`. */
export function removeOldAnswers({ beforeMs }: { readonly beforeMs: bigint }) {
  return query.deleteFrom('kept_answers').where(
    sql<boolean>`rowid in (select rowid from kept_answers
      where created_at_ms < ${beforeMs} limit ${sql.lit(answersAtOnce)})`,
  );
}

/** The record of a key, of whichever request. */
function isOfKey({ accountId, operation, key }: Pick<IdempotencyClaim, 'accountId' | 'operation' | 'key'>) {
  return ({ and }: ExpressionBuilder<Database, 'kept_answers'>) =>
    and({ account_id: accountId, operation, key });
}

/** Statements on idempotency records. Synchronous: they run inside the store's transactions. */
export class IdempotencyRecords {
  readonly #dropExpired;
  readonly #claim;
  readonly #find;
  readonly #keep;
  readonly #drop;
  readonly #dropUnfinished;

  constructor(connection: Connection) {
    this.#dropExpired = prepare(connection, removeOldAnswers);
    this.#claim = prepare(connection, (p: IdempotencyClaim & { beforeMs: bigint }) => {
      const first = {
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
    this.#find = prepare(connection, (p: IdempotencyClaim) =>
      query.selectFrom('kept_answers').select(['fingerprint', 'answer']).where(isOfKey(p)),
    );
    this.#keep = prepare(connection, (p: IdempotencyClaim & { answer: Buffer }) =>
      query
        .updateTable('kept_answers')
        .set({ answer: p.answer })
        .where(isOfKey(p))
        .where('request_id', '=', p.requestId),
    );
    this.#drop = prepare(connection, (p: IdempotencyClaim) =>
      query.deleteFrom('kept_answers').where(isOfKey(p)).where('request_id', '=', p.requestId),
    );
    this.#dropUnfinished = prepare(connection, (_: object) =>
      query.deleteFrom('kept_answers').where('answer', 'is', null),
    );
  }

  claim(claim: IdempotencyClaim): ClaimOutcome {
    const beforeMs = BigInt(claim.forgetBeforeMs);
    this.#dropExpired.run({ beforeMs });
    if (this.#claim.run({ ...claim, beforeMs }).changes > 0) return { kind: 'claimed' };
    const first = this.#find.get(claim);
    if (first === undefined || first.fingerprint !== claim.fingerprint) return { kind: 'conflict' };
    return first.answer === null ? { kind: 'running' } : { kind: 'kept', answer: first.answer };
  }

  end({ claim, answer }: ClaimEnd): void {
    if (answer === undefined) this.#drop.run(claim);
    else this.#keep.run({ ...claim, answer: Buffer.from(answer) });
  }

  /** Frees the keys of requests that a dead process left open. */
  dropUnfinished(): void {
    this.#dropUnfinished.run({});
  }
}
