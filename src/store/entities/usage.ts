import { sql } from 'kysely';
import type { RecordFilter, UsageRecord, UsageStore } from '../../core/entities/usage.ts';
import type { Executor } from '../sql/executor.ts';
import { idBound, idOrder } from '../sql/id-order.ts';
import { pageOf } from '../sql/page-of.ts';
import { query, type Statement, statement } from '../sql/statement.ts';
import { countPrunable, prune } from './prune.ts';
import { toRecord } from './usage-records.ts';
import { idsBetween } from './usage-steps.ts';
import { sumEndedDays } from './usage-sums.ts';
import { readTotals } from './usage-totals.ts';

export function usageStore(executor: Executor): UsageStore {
  return {
    list: (filter, page) =>
      pageOf(page, ({ size, after }) => {
        const wanted = { ...filter, ...idsBetween(filter.fromMs, filter.untilMs), size, after };
        return executor.all(recordsBefore(wanted), wanted);
      }),
    totals: (wanted) => readTotals(executor, wanted),
    sumEndedDays: (signal) => sumEndedDays(executor, signal),
    countPrunable: (cut) => countPrunable(executor, cut),
    prune: (cut, recordsMax, audit) => prune(executor, cut, recordsMax, audit),
  };
}

interface RecordsWanted extends RecordFilter {
  /** Bounds of the ids, as `idsBetween` gives them. */
  readonly since: string | undefined;
  readonly until: string | undefined;
  readonly after: string | undefined;
  readonly size: number;
}

const lists = new Map<string, Statement<RecordsWanted, UsageRecord>>();

/** Records, newest first. Each combination of filters is its own query, so that each can use an index. */
export function recordsBefore(wanted: RecordsWanted): Statement<RecordsWanted, UsageRecord> {
  const given = Object.entries(wanted).flatMap(([name, value]) => (value === undefined ? [] : [name]));
  const key = given.sort().join(' ');
  let list = lists.get(key);
  if (list === undefined) {
    list = listBy(new Set(given));
    lists.set(key, list);
  }
  return list;
}

function listBy(given: ReadonlySet<string>): Statement<RecordsWanted, UsageRecord> {
  return statement((p: Required<{ [K in keyof RecordsWanted]: NonNullable<RecordsWanted[K]> }>, dialect) => {
    const id = idOrder(dialect);
    const bound = (value: string) => idBound(dialect, value);
    let rows = query.selectFrom('usage_records').selectAll().orderBy(id, 'desc').limit(p.size);
    if (given.has('after')) rows = rows.where(id, '<', bound(p.after));
    if (given.has('accountId')) rows = rows.where('account_id', '=', p.accountId);
    if (given.has('since')) rows = rows.where(id, '>=', bound(p.since));
    if (given.has('until')) rows = rows.where(id, '<', bound(p.until));
    if (given.has('keyId')) rows = rows.where('key_id', '=', p.keyId);
    if (given.has('fromMs')) rows = rows.where('started_at_ms', '>=', sql<bigint>`${p.fromMs}`);
    if (given.has('untilMs')) rows = rows.where('started_at_ms', '<', sql<bigint>`${p.untilMs}`);
    if (given.has('operation')) rows = rows.where('operation', '=', p.operation);
    if (given.has('model')) rows = rows.where('model', '=', p.model);
    if (given.has('state')) rows = rows.where('state', '=', p.state);
    if (given.has('id')) rows = rows.where(id, '=', bound(p.id));
    return rows;
  }).map(toRecord) as Statement<RecordsWanted, UsageRecord>;
}
