import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Store } from '../../../src/core/entities/store.ts';
import { newAccountId, newKeyId } from '../../../src/core/values/ids.ts';
import { openPostgresStore } from '../../../src/store/postgres/open-store.ts';
import { newDatabase, type TestDatabase } from '../../support/postgres/database.ts';
import { addAccount, auditEntry } from '../../support/stored-key.ts';
import { recordEnd, recordStart } from '../../support/usage-record.ts';

const accountId = newAccountId(1);
const keyId = newKeyId(1);
const november = Date.UTC(2026, 10, 5);
const december = Date.UTC(2026, 11, 5);

let database: TestDatabase;
let store: Store;
let nowMs: number;
beforeEach(async () => {
  database = await newDatabase();
  nowMs = november;
  store = await openPostgresStore({ url: database.url, now: () => nowMs, leaseMs: 200 });
  await store.requests.recover(nowMs);
  await addAccount(store, accountId, [keyId]);
});
afterEach(async () => {
  await store.close();
  await database.drop();
});

const startAt = (startedAtMs: number) => recordStart({ accountId, keyId }, { startedAtMs });
const refused = recordEnd('refused', { httpStatus: 400, code: 'x', firstOutputMs: undefined });
const counts = async () => {
  const rows = await database.query<{ name: string; count: bigint }>(
    'select tableoid::regclass::text as name, count(*) from usage_records group by 1 order by 1',
  );
  return Object.fromEntries(rows.map(({ name, count }) => [name, Number(count)]));
};
const partitions = async () => {
  const rows = await database.query<{ name: string }>(
    "select inhrelid::regclass::text as name from pg_inherits where inhparent = 'usage_records'::regclass order by 1",
  );
  return rows.map(({ name }) => name.replace('usage_records_', ''));
};
const prune = (recordsBeforeMs: number) =>
  store.usage.prune({ recordsBeforeMs, answersBeforeMs: 0 }, 1_000, auditEntry());
const total = async () => {
  const wanted = { accountId: undefined, fromMs: undefined, untilMs: undefined, totalsMax: 10 };
  return store.usage.totals({ ...wanted, groupBy: ['month'] });
};

describe('usage records', () => {
  it('are in partitions by month, and all others in a default partition', async () => {
    for (const atMs of [november, november, december, 5]) await store.requests.record(startAt(atMs), refused);
    expect(await counts()).toEqual({
      usage_records_2026_11: 2,
      usage_records_2026_12: 1,
      usage_records_rest: 1,
    });
  });

  it('get new partitions as time passes', async () => {
    expect(await partitions()).toEqual(['2026_11', '2026_12', '2027_01', 'rest']);
    nowMs = december;
    await expect.poll(partitions).toEqual(['2026_11', '2026_12', '2027_01', '2027_02', 'rest']);
  });

  it('of a whole month are removed with its partition, and their sums stay', async () => {
    for (const atMs of [november, november, december]) await store.requests.record(startAt(atMs), refused);
    const before = await total();
    expect(await prune(Date.UTC(2026, 11, 2))).toMatchObject({ records: 2, isComplete: true });
    expect(await partitions()).toEqual(['2026_12', '2027_01', 'rest']);
    expect(await total()).toEqual(before);
    expect(await counts()).toEqual({ usage_records_2026_12: 1 });
    const { items } = await store.audit.list({ size: 10, after: undefined });
    expect(items.filter(({ action }) => action === 'test')).toHaveLength(3);
  });

  it('keep the partition of a running request', async () => {
    const running = startAt(november);
    await store.requests.reserve(running, {});
    await store.requests.record(startAt(november), refused);
    expect(await prune(Date.UTC(2026, 11, 2))).toMatchObject({ records: 1, isComplete: true });
    expect(await counts()).toEqual({ usage_records_2026_11: 1 });
    await store.requests.settle(running.id, refused);
    expect(await prune(Date.UTC(2026, 11, 2))).toMatchObject({ records: 1 });
    expect(await partitions()).not.toContain('2026_11');
  });
});
