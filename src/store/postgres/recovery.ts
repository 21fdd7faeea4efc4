/**
 * Ends open requests and claims of dead nodes. Any node may do so, also several at once, as the rows of the accounts
 * are locked meanwhile.
 */
import { sql } from 'kysely';
import { endRates } from '../../core/books/rates.ts';
import { interruptedEnd } from '../../core/books/settle.ts';
import type { AccountId, RequestId } from '../../core/values/ids.ts';
import { countedOf } from '../entities/counts.ts';
import { forgetRateUses, rateUsesFromText } from '../entities/rate-uses.ts';
import { startedColumns, toStarted } from '../entities/usage-records.ts';
import type { Executor } from '../sql/executor.ts';
import { step } from '../sql/job.ts';
import { query, statement } from '../sql/statement.ts';
import type { Groups, Operation } from './requests/groups.ts';
import { settlingOf } from './requests/requests.ts';

/** Requests that are ended together. */
const requestsAtOnce = 500;

/** Nodes that have left have no row. */
const ofNoNode = sql<boolean>`node_epoch is not null
  and not exists (select from nodes where epoch = node_epoch and not dead)`;
/** Versions without rates end requests this way. */
const keepsRates = sql<boolean>`rate_uses is not null and state <> 'started'`;
const leftRates = statement((_: object) =>
  query
    .selectFrom('usage_records')
    .select(['id', 'account_id', 'rate_uses'])
    .where(keepsRates)
    .limit(requestsAtOnce),
).map((row) => ({
  id: row.id as RequestId,
  accountId: row.account_id as AccountId,
  rated: ownersOf(row.rate_uses),
}));
const leftOpen = statement((_: object) =>
  query
    .selectFrom('usage_records')
    .select([...startedColumns, 'price_input', 'reserved_units', 'reserved_month', 'counted', 'rate_uses'])
    .where('state', '=', sql.lit('started'))
    .where(ofNoNode)
    .limit(requestsAtOnce),
).map((row) => {
  const start = toStarted(row);
  const counted = countedOf(start.accountId, row);
  // A free chat has a hold of 0 credits.
  const holdsCredits = row.price_input !== null;
  return { start, holdsCredits, counted, rated: ownersOf(row.rate_uses) };
});
const anyLeft = statement(
  (_: object) => sql<{ found: boolean }>`select true as found where exists (select from nodes where dead)
  or exists (select from usage_records where state = 'started' and ${ofNoNode})
  or exists (select from usage_records where ${keepsRates})
  or exists (select from kept_answers where answer is null and ${ofNoNode})`,
);
const freeClaims = statement((_: object) =>
  query.deleteFrom('kept_answers').where('answer', 'is', null).where(ofNoNode),
);
/** The dead nodes have nothing left, and can add nothing, as their transactions fail. */
const forgetDead = statement(
  (_: object) => sql`delete from nodes where dead
  and not exists (select from usage_records where state = 'started' and node_epoch = epoch)`,
);

/** Returns the number of ended requests. */
export async function endRequestsOfDeadNodes(
  { executor, groups }: { readonly executor: Executor; readonly groups: Groups },
  nowMs: number,
): Promise<number> {
  if ((await executor.get(anyLeft, {})) === undefined) return 0;
  let count = 0;
  for (;;) {
    const left = await executor.all(leftOpen, {});
    const ends = left.map((request) => settlingOf(request, interruptedEnd(request.start, nowMs)));
    await Promise.all(ends.map((end) => groups.run(end)));
    count += left.length;
    if (left.length < requestsAtOnce) break;
  }
  await Promise.all((await executor.all(leftRates, {})).map((record) => groups.run(givingBackRates(record))));
  await executor.run({ steps: [step(freeClaims, {}), step(forgetDead, {})] });
  return count;
}

interface RatedRecord {
  readonly id: RequestId;
  readonly accountId: AccountId;
  /** The keys and accounts whose rates the request used. */
  readonly rated: readonly string[];
}

/** Returns the rates of a request that a version without rates has ended. */
function givingBackRates({ id, accountId, rated }: RatedRecord): Operation<void> {
  return {
    accountId,
    rated,
    recordId: id,
    hasRecord: true,
    decide(rows, writes) {
      const record = rows.record(id);
      if (record === undefined || record.state === 'started') return;
      endRates(rows, record.reserved.rateUses, 0);
      writes.steps.push(step(forgetRateUses, { id }));
    },
  };
}

function ownersOf(rateUses: string | null): readonly string[] {
  return rateUsesFromText(rateUses).map(({ owner }) => owner);
}
