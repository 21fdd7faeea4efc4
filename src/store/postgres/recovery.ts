/** Ends what dead nodes left open. Any node may do so, also several at once: the rows of the accounts are locked meanwhile. */
import { sql } from 'kysely';
import type { AccountId, RequestId } from '../../core/values/ids.ts';
import { interruptedEnd, type StartedRecord, startedColumns, toStarted } from '../entities/usage-records.ts';
import type { Executor } from '../sql/executor.ts';
import { step } from '../sql/job.ts';
import { query, statement } from '../sql/statement.ts';
import { countedFromText } from '../tables/limit-counts.ts';
import { rateUsesFromText } from '../tables/rate-uses.ts';
import type { Groups } from './groups/groups.ts';
import { givingBackRates, type OpenRequest, settling } from './groups/operations.ts';

/** Requests that are ended together. */
const requestsAtOnce = 500;

/** The row of a node that has left is gone. */
const ofNoNode = sql<boolean>`node_epoch is not null
  and not exists (select from nodes where epoch = node_epoch and not dead)`;
/** A version that knows no rates has ended it. */
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
    .select([...startedColumns, 'counted', 'rate_uses'])
    .where('state', '=', sql.lit('started'))
    .where(ofNoNode)
    .limit(requestsAtOnce),
).map((row) => ({
  ...toStarted(row),
  counted: countedFromText(row.counted),
  rated: ownersOf(row.rate_uses),
}));
const anyLeft = statement(
  (_: object) => sql<{ found: boolean }>`select true as found where exists (select from nodes where dead)
  or exists (select from usage_records where state = 'started' and ${ofNoNode})
  or exists (select from usage_records where ${keepsRates})
  or exists (select from kept_answers where answer is null and ${ofNoNode})`,
);
const freeClaims = statement((_: object) =>
  query.deleteFrom('kept_answers').where('answer', 'is', null).where(ofNoNode),
);
/** Nothing of theirs is left, and nothing can be added: their transactions fail. */
const forgetDead = statement(
  (_: object) => sql`delete from nodes where dead
  and not exists (select from usage_records where state = 'started' and node_epoch = epoch)`,
);

/** Returns the number of requests that were ended. */
export async function endRequestsOfDeadNodes(
  { executor, groups }: { readonly executor: Executor; readonly groups: Groups },
  nowMs: number,
): Promise<number> {
  if ((await executor.get(anyLeft, {})) === undefined) return 0;
  let count = 0;
  for (;;) {
    const records = await executor.all(leftOpen, {});
    await Promise.all(records.map((record) => groups.run(interrupting(record, nowMs))));
    count += records.length;
    if (records.length < requestsAtOnce) break;
  }
  await Promise.all((await executor.all(leftRates, {})).map((record) => groups.run(givingBackRates(record))));
  await executor.run({ steps: [step(freeClaims, {}), step(forgetDead, {})] });
  return count;
}

function interrupting(record: StartedRecord & Pick<OpenRequest, 'counted' | 'rated'>, nowMs: number) {
  const { id, accountId, model, startedAtMs, month, hold, counted, rated } = record;
  const counter = month && { accountId, month };
  const start = { id, accountId, model, startedAtMs };
  const request = { start, counter, holdsCredits: hold > 0n, counted, rated };
  return settling(request, interruptedEnd(record, nowMs));
}

function ownersOf(rateUses: string | null): readonly string[] {
  return rateUsesFromText(rateUses).map(({ owner }) => owner);
}
