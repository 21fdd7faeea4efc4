/** Lists of usage records, on each database: the records that any filters select, also after pruning. */
import Sqlite from 'better-sqlite3';
import { expect, it, onTestFinished } from 'vitest';
import {
  operations,
  type RecordEnd,
  type RecordFilter,
  type RecordStart,
  recordStates,
} from '../../src/core/entities/usage.ts';
import { newAccountId, newKeyId } from '../../src/core/values/ids.ts';
import { recordsOf } from '../../src/store/entities/usage-lists.ts';
import { inGroups } from '../support/in-groups.ts';
import { Random } from '../support/random.ts';
import { seed } from '../support/seed.ts';
import { newStoreFolder, testsPostgres } from '../support/store-folder.ts';
import { addAccount, auditEntry } from '../support/stored-key.ts';
import { recordEnd, recordStart } from '../support/usage-record.ts';

const dayMs = 86_400_000;
const firstMs = Date.UTC(2026, 9, 28);
const days = 8;
const codes = ['upstream_error', 'rate_limit_exceeded'];
const states = ['ok', 'failed', 'refused', 'cancelled'] as const;

async function openFolder() {
  const folder = await newStoreFolder();
  const store = await folder.open();
  onTestFinished(async () => {
    await store.close();
    await folder.remove();
  });
  return { folder, store };
}

type Ended = RecordStart & { readonly state: (typeof states)[number] } & Pick<
    RecordEnd,
    'code' | 'engine' | 'httpStatus'
  >;

function isSelected(record: Ended, filter: Omit<RecordFilter, 'signal'>): boolean {
  const { fromMs = 0, untilMs = Infinity, tag, ...others } = filter;
  const { startedAtMs } = record;
  const names = Object.keys(others) as (keyof typeof others)[];
  return (
    startedAtMs >= fromMs &&
    startedAtMs < untilMs &&
    (tag === undefined || record.tags?.split(',').includes(tag) === true) &&
    names.every((name) => others[name] === undefined || others[name] === record[name])
  );
}

it('have the records of any filters, newest first, on pages of any size', async () => {
  const random = new Random(seed);
  const { store } = await openFolder();
  const owners: Pick<RecordStart, 'accountId' | 'keyId'>[] = [];
  for (const accountId of [newAccountId(1), newAccountId(1)]) {
    const keyIds = [newKeyId(1), newKeyId(1)];
    await addAccount(store, accountId, keyIds);
    for (const keyId of keyIds) owners.push({ accountId, keyId });
  }
  const newRecord = async (): Promise<Ended> => {
    const startedAtMs =
      firstMs + random.below(days) * dayMs + random.pick([0, dayMs - 1, random.below(dayMs)]);
    const model = random.pick(['m1', 'm2', '']) || undefined;
    const labels = {
      endUser: random.pick(['ann', 'bob', '']) || undefined,
      tags: random.pick(['X', 'x,y', '']) || undefined,
    };
    const facts = { operation: random.pick(['chat', 'speech'] as const), model, startedAtMs, ...labels };
    const start = recordStart(random.pick(owners), facts);
    const state = random.pick(states);
    const engine = random.pick(['e1', 'e2', '']) || undefined;
    const isOk = state === 'ok';
    const end = { code: isOk ? undefined : random.pick(codes), httpStatus: isOk ? 200 : 429, engine };
    await store.requests.record(start, recordEnd(state, end));
    return { ...start, ...end, state };
  };
  let records = await inGroups(Array.from({ length: 1_500 }), newRecord);
  for (let turn = 0; turn < 60; turn++) {
    if (random.onceIn(4)) records.push(await newRecord());
    if (turn === 40) {
      const recordsBeforeMs = firstMs + 2.5 * dayMs;
      await store.usage.prune({ recordsBeforeMs, answersBeforeMs: 0 }, 10_000, auditEntry());
      records = records.filter(({ startedAtMs }) => startedAtMs >= recordsBeforeMs);
    }
    const { accountId, keyId } = random.pick(owners);
    const maybe = <T>(value: T) => (random.onceIn(4) ? value : undefined);
    const filter: Omit<RecordFilter, 'signal'> = {
      accountId: maybe(accountId),
      keyId: maybe(keyId),
      operation: maybe(random.pick(['chat', 'speech', 'transcription'] as const)),
      model: maybe(random.pick(['m1', 'm2', 'unknown'])),
      state: maybe(random.pick([...states, 'started'] as const)),
      code: maybe(random.pick([...codes, 'not_found'])),
      engine: maybe(random.pick(['e1', 'unknown'])),
      httpStatus: maybe(random.pick([200, 429, 500])),
      endUser: maybe(random.pick(['ann', 'unknown'])),
      tag: maybe(random.pick(['x', 'y', 'unknown'])),
      fromMs: maybe(firstMs + random.below(days * dayMs)),
      untilMs: maybe(firstMs + random.below(days * dayMs)),
    };
    const selected = records.filter((record) => isSelected(record, filter)).map(({ id }) => id);
    const listed: string[] = [];
    const size = random.between(1, 400);
    let after: string | undefined;
    do {
      const page = await store.usage.list(filter, { size, after });
      listed.push(...page.items.map(({ id }) => id));
      after = page.nextAfter;
    } while (after !== undefined);
    expect([filter, listed]).toEqual([filter, selected.sort().reverse()]);
  }
});

it('and totals end once their client has left', async () => {
  const { store } = await openFolder();
  const [accountId, keyId] = [newAccountId(1), newKeyId(1)];
  await addAccount(store, accountId, [keyId]);
  await store.requests.record(recordStart({ accountId, keyId }), recordEnd('ok'));
  const signal = AbortSignal.abort(new Error('the client has left'));
  const page = { size: 10, after: undefined };
  await expect(store.usage.list({ state: 'failed', signal }, page)).rejects.toThrow('has left');
  const all = { accountId: undefined, fromMs: undefined, untilMs: undefined, groupBy: [], totalsMax: 1 };
  await expect(store.usage.totals({ ...all, signal })).rejects.toThrow('has left');
});

it.skipIf(testsPostgres)('read a range of an index, in its order', async () => {
  const { folder } = await openFolder();
  const database = new Sqlite(`${folder.path}/parley.db`, { readonly: true });
  onTestFinished(() => void database.close());
  const some = {
    accountId: newAccountId(1),
    keyId: newKeyId(1),
    operation: operations[0],
    state: recordStates[0],
  };
  const range = { since: 'req_0', until: 'req_1', size: 1 };
  for (let chosen = 0; chosen < 16; chosen++) {
    const filter = Object.fromEntries(Object.entries(some).filter((_, at) => (chosen & (1 << at)) !== 0));
    const wanted = { ...filter, ...range };
    const query = recordsOf(wanted);
    const plan = database
      .prepare<unknown[], { detail: string }>(`explain query plan ${query.sql}`)
      .all(...query.bind(wanted))
      .map(({ detail }) => detail);
    expect(plan.join('\n')).toMatch(
      /SEARCH u USING (PRIMARY KEY|INDEX usage_rows_by_account) \(.*id>\? AND id<\?\)/,
    );
    expect(plan.join('\n')).not.toMatch(/SCAN|TEMP B-TREE/);
  }
});
