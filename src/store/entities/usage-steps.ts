/** Reads usage and ledgers in small steps: the process serves requests between them. */
import { firstRequestId } from '../../core/values/ids.ts';
import type { Queries } from '../sql/executor.ts';
import { afterAll } from '../sql/schema.ts';
import { query, statement } from '../sql/statement.ts';

/** Rows that one step reads. The sum of their token counts, each at most 2^53, fits into 64 bits. */
const rowsAtOnce = 1_000;

/** The start of the oldest request. */
export const firstRecordMs = statement((_: object, dialect) =>
  query.selectFrom('usage_records').select('started_at_ms').orderBy(dialect.idOrder).limit(1),
).map((row) => Number(row.started_at_ms));

/** The start of the newest request. */
export const lastRecordMs = statement((_: object, dialect) =>
  query.selectFrom('usage_records').select('started_at_ms').orderBy(dialect.idOrder, 'desc').limit(1),
).map((row) => Number(row.started_at_ms));

interface IdRange {
  readonly after: string;
  readonly until: string;
  readonly accountId?: string | undefined;
}

/** Divides a range of ids of records or ledger entries into steps. */
export async function* steps(
  snapshot: Queries,
  table: 'usage_records' | 'ledger_entries',
  { after, until, accountId }: IdRange,
): AsyncGenerator<{ readonly after: string; readonly last: string }> {
  const lastOfStep = statement((p: { after: string; until: string; accountId: string }, dialect) => {
    const id = dialect.idOrder;
    const ids = query
      .selectFrom(table)
      .select('id')
      .where(id, '>', dialect.idBound(p.after))
      .where(id, '<=', dialect.idBound(p.until))
      .orderBy(id)
      .limit(1)
      .offset(rowsAtOnce - 1);
    return accountId === undefined ? ids : ids.where('account_id', '=', p.accountId);
  });
  let from = after;
  for (;;) {
    const found = await snapshot.get(lastOfStep, { after: from, until, accountId: accountId ?? '' });
    yield { after: from, last: found?.id ?? until };
    if (found === undefined) return;
    from = found.id;
  }
}

/** A record id is created at most this long before its request starts, with a generous margin. */
export const idLeadMs = 3_600_000;

/** The ids of requests that started in a span of time, so that reading skips all others. The upper bound is excluded. */
export function idsBetween(fromMs = idLeadMs, untilMs?: number) {
  return {
    since: firstRequestId(Math.max(0, fromMs - idLeadMs)),
    until: untilMs === undefined ? afterAll : firstRequestId(Math.max(0, untilMs + idLeadMs)),
  };
}
