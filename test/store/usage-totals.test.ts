/** Totals of usage, on each database: the sums of the records for any filter, also after pruning. */
import { afterEach, beforeEach, expect, it } from 'vitest';
import type { Store } from '../../src/core/entities/store.ts';
import {
  type RecordEnd,
  type RecordStart,
  type TotalDimension,
  topDimensions,
  totalDimensions,
} from '../../src/core/entities/usage.ts';
import { type AccountId, type KeyId, newAccountId, newKeyId } from '../../src/core/values/ids.ts';
import { nanoCredits } from '../../src/core/values/money.ts';
import { inGroups } from '../support/in-groups.ts';
import { Random } from '../support/random.ts';
import { seed } from '../support/seed.ts';
import { newStoreFolder, type StoreFolder, testsPostgres } from '../support/store-folder.ts';
import { addAccount, auditEntry } from '../support/stored-key.ts';
import { recordEnd, recordStart } from '../support/usage-record.ts';

const dayMs = 24 * 60 * 60 * 1000;
const firstMs = Date.UTC(2026, 9, 29);
const days = 6;

interface Ended {
  readonly start: RecordStart;
  readonly end: RecordEnd;
  isPruned: boolean;
}

let folder: StoreFolder;
let store: Store;
beforeEach(async () => {
  folder = await newStoreFolder();
  store = await folder.open();
});
afterEach(async () => {
  await store.close();
  await folder.remove();
});

function randomLabels(random: Random): Pick<RecordStart, 'endUser' | 'tags'> {
  return {
    endUser: random.pick(['ann', 'bob', '']) || undefined,
    tags: random.pick(['x', 'x,y', '']) || undefined,
  };
}

function randomRecord(random: Random, owners: readonly (readonly [AccountId, KeyId])[]): Ended {
  // The first and the last moment of a day could most likely be counted on another one.
  const inDayMs = random.pick([0, dayMs - 1, random.below(dayMs)]);
  const startedAtMs = firstMs + random.below(days) * dayMs + inDayMs;
  const [accountId, keyId] = random.pick(owners);
  const operation = random.pick(['chat', 'speech'] as const);
  const model = random.pick(['a', 'b', '']) || undefined;
  const state = random.pick(['ok', 'failed', 'refused'] as const);
  const [promptTokens, completionTokens] = [random.below(100), random.below(100)];
  const cachedTokens = random.onceIn(2) ? random.below(50) : undefined;
  const tokens = { promptTokens, cachedTokens, completionTokens, totalTokens: 0 };
  const characters = operation === 'speech' ? random.below(50) : undefined;
  return {
    isPruned: false,
    start: recordStart(
      { accountId, keyId },
      { operation, model, startedAtMs, characters, ...randomLabels(random) },
    ),
    end: recordEnd(state, {
      code: state === 'ok' ? undefined : random.pick(['upstream_error', 'rate_limit_exceeded']),
      httpStatus: state === 'ok' ? 200 : random.pick([429, 503]),
      engine: random.pick(['e1', 'e2', '']) || undefined,
      audioMsOut: random.below(1000),
      tokens: operation === 'chat' ? { ...tokens, source: 'reported' } : undefined,
      cost: operation === 'chat' && state === 'ok' ? nanoCredits(BigInt(random.below(1000))) : undefined,
    }),
  };
}

function dimensionOf(name: TotalDimension, { start, end, isPruned }: Ended): string {
  const day = new Date(start.startedAtMs).toISOString().slice(0, 10);
  const values: Record<TotalDimension, string> = {
    account: start.accountId,
    key: start.keyId,
    month: day.slice(0, 7),
    hour: isPruned ? '' : `${new Date(start.startedAtMs).toISOString().slice(0, 13)}:00:00Z`,
    day,
    operation: start.operation,
    state: end.state,
    model: end.state === 'refused' ? '' : (start.model ?? ''),
    code: isPruned ? '' : (end.code ?? ''),
    engine: isPruned ? '' : (end.engine ?? ''),
    http_status: isPruned ? '' : String(end.httpStatus),
    end_user: isPruned ? '' : (start.endUser ?? ''),
    tags: isPruned ? '' : (start.tags ?? ''),
  };
  return values[name];
}

/** What sums of `sumsOf` are compared by. */
const compared = {
  requests: ([requests]: readonly bigint[]) => requests,
  cost: (sums: readonly bigint[]) => sums[6],
  tokens: (sums: readonly bigint[]) => (sums[3] ?? 0n) + (sums[4] ?? 0n),
  cached_tokens: (sums: readonly bigint[]) => sums[5],
  characters: (sums: readonly bigint[]) => sums[1],
};

/** The accounts or keys with the largest sums; of equal ones those with the smaller ids. */
function largest(records: readonly Ended[], { dimension, by, size }: RandomTop): readonly string[] {
  const sums = Object.entries(sumsOf(records, [dimension])).sort(([one], [other]) => (one < other ? -1 : 1));
  const inOrder = sums.sort(([, one], [, other]) =>
    Number((compared[by](other) ?? 0n) - (compared[by](one) ?? 0n)),
  );
  return inOrder
    .filter(([id]) => id !== '')
    .slice(0, size)
    .map(([id]) => id);
}

interface RandomTop {
  readonly dimension: (typeof topDimensions)[number];
  readonly by: keyof typeof compared;
  readonly size: number;
}

function randomTop(random: Random, groupBy: readonly TotalDimension[]): RandomTop | undefined {
  const [dimension, other] = topDimensions.filter((name) => groupBy.includes(name));
  if (dimension === undefined || other !== undefined || random.onceIn(2)) return undefined;
  const by = random.pick(Object.keys(compared)) as keyof typeof compared;
  return { dimension, by, size: random.between(1, 3) };
}

/** Sums by the values of the dimensions. */
function sumsOf(records: readonly Ended[], groupBy: readonly TotalDimension[], top?: RandomTop) {
  const own = top && largest(records, top);
  const sums = new Map<string, bigint[]>();
  for (const record of records) {
    const { start, end } = record;
    const ownOf = (name: TotalDimension) => {
      const value = dimensionOf(name, record);
      return own && name === top?.dimension && !own.includes(value) ? '' : value;
    };
    const key = groupBy.map(ownOf).join(' ');
    const numbers = [
      1,
      start.characters,
      end.audioMsOut,
      end.tokens?.promptTokens,
      end.tokens?.completionTokens,
      end.tokens?.cachedTokens,
    ];
    const amounts = [...numbers.map((number) => BigInt(number ?? 0)), end.cost ?? 0n];
    const known = sums.get(key);
    sums.set(
      key,
      amounts.map((amount, at) => amount + (known?.[at] ?? 0n)),
    );
  }
  return Object.fromEntries(sums);
}

it('totals are the sums of the records, for any filter and group, also with late records and after pruning', async () => {
  const random = new Random(seed);
  const owners: (readonly [AccountId, KeyId])[] = [];
  for (const accountId of [newAccountId(1), newAccountId(1)]) {
    const keyIds = [newKeyId(1), newKeyId(1)];
    await addAccount(store, accountId, keyIds);
    for (const keyId of keyIds) owners.push([accountId, keyId]);
  }
  const records = Array.from({ length: 1_500 }, () => randomRecord(random, owners));
  await inGroups(records, ({ start, end }) => store.requests.record(start, end));
  for (let turn = 0; turn < 60; turn++) {
    if (turn % 20 === 19) {
      const recordsBeforeMs = firstMs + random.below(days) * dayMs + random.below(dayMs);
      await store.usage.prune({ recordsBeforeMs, answersBeforeMs: 0 }, 10_000, auditEntry());
      for (const record of records) record.isPruned ||= record.start.startedAtMs < recordsBeforeMs;
    }
    if (random.onceIn(4)) {
      const late = randomRecord(random, owners);
      records.push(late);
      await store.requests.record(late.start, late.end);
    }
    const [accountId, keyId] = random.pick([[undefined, undefined], ...owners] as const);
    const key = random.onceIn(2) ? keyId : undefined;
    const from = random.below(days);
    const fromMs = random.onceIn(2) ? firstMs + from * dayMs : undefined;
    const untilMs = random.onceIn(2) ? firstMs + (from + random.below(days)) * dayMs : undefined;
    const groupBy = totalDimensions.filter(() => random.onceIn(3));
    const top = randomTop(random, groupBy);
    const wanted = { accountId, keyId: key, fromMs, untilMs, groupBy, top, totalsMax: 10_000 };
    const totals = await store.usage.totals(wanted);
    if (totals === 'too_many') throw new Error('there are too many totals');
    const chosen = records.filter(
      ({ start }) =>
        (accountId === undefined || start.accountId === accountId) &&
        (key === undefined || start.keyId === key) &&
        start.startedAtMs >= (fromMs ?? 0) &&
        start.startedAtMs < (untilMs ?? Infinity),
    );
    const found = totals.map((total) => [
      groupBy.map((name) => total.of[name]).join(' '),
      [
        ...[total.requests, total.characters, total.audioMsOut, total.promptTokens, total.completionTokens],
        ...[total.cachedTokens, total.cost],
      ],
    ]);
    expect([wanted, Object.fromEntries(found)]).toEqual([wanted, sumsOf(chosen, groupBy, top)]);
    for (const { of, isRest = false } of totals)
      expect(isRest).toBe(top !== undefined && of[top.dimension] === '');
  }
});

it('reads sums in steps, each once, for all accounts and for the largest', async () => {
  const [accounts, sumDays] = [1_500, 10];
  const text = (number: string) =>
    testsPostgres ? `lpad(to_hex(${number}), 32, '0')` : `printf('%032x', ${number})`;
  const id = (prefix: string, number: string) =>
    testsPostgres ? `${text(number)}::uuid` : `'${prefix}_' || ${text(number)}`;
  await folder.execute(`insert into usage_sums
    with recursive accounts (number) as (select 1 union all select number + 1 from accounts where number < ${accounts}),
      days (number) as (select 1 union all select number + 1 from days where number < ${sumDays})
    select '2026-10-' || case when days.number < 10 then '0' else '' end || days.number, ${id('acc', 'accounts.number')}, ${id('key', '1')}, 'chat', 'a', 'ok',
      accounts.number, 0, 0, 0, 1, 2, 0, 0, 0, 3
    from days, accounts`);
  const until = {
    accountId: undefined,
    fromMs: undefined,
    untilMs: Date.UTC(2026, 9, 11),
    totalsMax: 10_000,
  };
  const totalsBy = async (groupBy: readonly TotalDimension[], top?: RandomTop) => {
    const totals = await store.usage.totals({ ...until, groupBy, top });
    return totals === 'too_many' ? totals : totals.map(({ of, requests, cost }) => [of, requests, cost]);
  };
  const acc = (number: number) => `acc_${number.toString(16).padStart(32, '0')}`;
  const all = Array.from({ length: accounts }, (_, at) => [
    { account: acc(at + 1) },
    BigInt((at + 1) * sumDays),
    BigInt(3 * sumDays),
  ]);
  expect(await totalsBy(['account'])).toEqual(all);
  const rest = ((accounts - 2) * (accounts - 1) * sumDays) / 2;
  expect(await totalsBy(['account'], { dimension: 'account', by: 'requests', size: 2 })).toEqual([
    [{ account: '' }, BigInt(rest), BigInt(3 * sumDays * (accounts - 2))],
    ...all.slice(-2),
  ]);
});
