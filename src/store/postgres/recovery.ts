/**
 * Ends open requests and claims of dead nodes. Any node may do so, also several at once, as the rows of the accounts
 * are locked meanwhile.
 */
import { sql } from 'kysely';
import { interruptedEnd } from '../../core/books/settle.ts';
import { countedOf } from '../entities/counts.ts';
import { startedColumns, toStarted } from '../entities/usage-records.ts';
import type { Executor } from '../sql/executor.ts';
import { step } from '../sql/job.ts';
import { query, statement } from '../sql/statement.ts';
import type { Groups } from './requests/groups.ts';
import { rateUsesFromText } from './requests/read-set.ts';
import { settlingOf } from './requests/requests.ts';

/** Requests that are ended together. */
const requestsAtOnce = 500;

/** Nodes that have left have no row. */
const ofNoNode = sql<boolean>`node_epoch is not null
  and not exists (select from nodes where epoch = node_epoch and not dead)`;
const leftOpen = statement((_: object) =>
  query
    .selectFrom('usage_records')
    .select([...startedColumns, 'price_input', 'counted', 'rate_uses'])
    .where('state', '=', sql.lit('started'))
    .where(ofNoNode)
    .limit(requestsAtOnce),
).map((row) => {
  const start = toStarted(row);
  const counted = countedOf(row.counted);
  // A free chat has a hold of 0 credits.
  const holdsCredits = row.price_input !== null;
  return { start, holdsCredits, counted, rated: ownersOf(row.rate_uses) };
});
const anyLeft = statement(
  (_: object) => sql<{ found: boolean }>`select true as found where exists (select from nodes where dead)
  or exists (select from usage_records where state = 'started' and ${ofNoNode})
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
  await executor.run({ steps: [step(freeClaims, {}), step(forgetDead, {})] });
  return count;
}

function ownersOf(rateUses: string | null): readonly string[] {
  return rateUsesFromText(rateUses).map(({ owner }) => owner);
}
