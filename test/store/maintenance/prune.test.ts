import * as fc from 'fast-check';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { Retention } from '../../../src/core/billing/retention.ts';
import type { Store } from '../../../src/core/entities/store.ts';
import type { UsageStore } from '../../../src/core/entities/usage.ts';
import {
  type RecordEnd,
  type RecordStart,
  recordDimensions,
  type TokenUsage,
  type TotalDimension,
  totalDimensions,
} from '../../../src/core/entities/usage.ts';
import {
  type AccountId,
  type KeyId,
  newAccountId,
  newAuditId,
  newKeyId,
  newRequestId,
  type RequestId,
} from '../../../src/core/values/ids.ts';
import { nanoCredits } from '../../../src/core/values/money.ts';
import { inGroups } from '../../support/in-groups.ts';
import { bearer, startParley, TestClock } from '../../support/parley.ts';
import { newStoreFolder, type StoreFolder } from '../../support/store-folder.ts';
import { addAccount, auditEntry } from '../../support/stored-key.ts';
import { recordEnd, recordStart } from '../../support/usage-record.ts';

const day = 86_400_000;
const firstDayMs = Date.UTC(2026, 9, 1);

/** An ended record, or a started one. */
interface Request {
  readonly account: 0 | 1;
  readonly atMs: number;
  /** Time between the id of a request and its start. */
  readonly idLeadMs: number;
  readonly operation: RecordStart['operation'];
  readonly model: string | undefined;
  readonly state: RecordEnd['state'] | 'started';
  readonly units: number;
  readonly tokens: number | undefined;
  readonly audioMs: number;
}

const request: fc.Arbitrary<Request> = fc.record({
  account: fc.constantFrom(0, 1),
  // Records over two months, often at the very end or start of a day or month. Many share the day and all other
  // dimensions.
  atMs: fc
    .tuple(fc.constantFrom(0, 30, 31, 61), fc.constantFrom(0, 1, day / 2, day - 1))
    .map(([days, ms]) => firstDayMs + days * day + ms),
  idLeadMs: fc.constantFrom(0, 3, 2_000),
  operation: fc.constantFrom('speech', 'transcription', 'chat'),
  model: fc.constantFrom(undefined, 'eliza'),
  state: fc.constantFrom('ok', 'ok', 'refused', 'failed', 'cancelled', 'started'),
  units: fc.integer({ min: 0, max: 5_000 }),
  tokens: fc.option(fc.integer({ min: 1, max: 100_000 }), { nil: undefined }),
  audioMs: fc.integer({ min: 0, max: 900_000 }),
});

class Archive {
  readonly accounts: readonly AccountId[] = [newAccountId(1), newAccountId(2)];
  readonly store: Store;
  readonly #keys: readonly KeyId[] = [newKeyId(1), newKeyId(2)];

  constructor(store: Store) {
    this.store = store;
  }

  async open(): Promise<this> {
    for (const [at, id] of this.accounts.entries()) {
      await addAccount(this.store, id, [this.#keys[at] ?? newKeyId(1)], 10n ** 15n);
    }
    return this;
  }

  async add(requests: readonly Request[]): Promise<void> {
    await inGroups(requests, (one) => this.#addOne(one));
  }

  async #addOne(one: Request): Promise<RequestId> {
    const id = newRequestId(one.atMs - one.idLeadMs);
    const { operation, model } = one;
    const accountId = this.accounts[one.account] ?? newAccountId(1);
    const keyId = this.#keys[one.account] ?? newKeyId(1);
    const characters = operation === 'speech' ? one.units : undefined;
    const start = recordStart(
      { accountId, keyId },
      { id, operation, model, startedAtMs: one.atMs, characters },
    );
    const price = { inputPerMillion: nanoCredits(1n), outputPerMillion: nanoCredits(2n) };
    const hold = { amount: nanoCredits(BigInt(one.tokens ?? 0) * 7n), price };
    if (one.state !== 'started' && one.state !== 'ok') {
      await this.store.requests.record(start, endOf(one, one.state));
      return id;
    }
    expect(await this.store.requests.reserve(start, { hold })).toMatchObject({ kind: 'reserved' });
    if (one.state === 'ok') await this.store.requests.settle(id, endOf(one, one.state));
    else await this.store.requests.started(id);
    return id;
  }

  prune(beforeMs: number, recordsMax = 1_000_000) {
    return this.store.usage.prune(
      { recordsBeforeMs: beforeMs, answersBeforeMs: 0 },
      recordsMax,
      auditEntry(),
    );
  }

  /** All totals. */
  async totals() {
    const kept = totalDimensions.filter((name) => !recordDimensions.some((one) => one === name));
    const groupings: TotalDimension[][] = [[], ['month'], kept];
    const ranges = [undefined, firstDayMs + 31 * day];
    const all = [];
    for (const groupBy of groupings) {
      for (const accountId of [undefined, this.accounts[0]]) {
        for (const fromMs of ranges) {
          for (const untilMs of ranges) {
            const query = { groupBy, accountId, fromMs, untilMs, totalsMax: 10_000 };
            all.push([query, await this.store.usage.totals(query)]);
          }
        }
      }
    }
    return all;
  }

  async records() {
    return (await this.store.usage.list({}, { size: 10_000, after: undefined })).items;
  }
}

function endOf(one: Request, state: RecordEnd['state']): RecordEnd {
  const { tokens, units, audioMs, operation } = one;
  return recordEnd(state, {
    audioMsIn: operation === 'transcription' ? audioMs : undefined,
    audioMsOut: operation === 'speech' ? audioMs : undefined,
    tokens: tokens === undefined ? undefined : tokensOf(tokens),
    fairUseUnits: units,
    cost: state === 'ok' ? nanoCredits(BigInt(tokens ?? 0) * 5n) : undefined,
  });
}

function tokensOf(promptTokens: number): TokenUsage {
  const completionTokens = promptTokens * 2;
  return { promptTokens, completionTokens, totalTokens: promptTokens + completionTokens, source: 'reported' };
}

describe('pruning', () => {
  const folders: StoreFolder[] = [];
  afterEach(async () => {
    for (const folder of folders.splice(0)) await folder.remove();
  });

  const opened = async () => {
    const folder = await newStoreFolder();
    folders.push(folder);
    return new Archive(await folder.open()).open();
  };

  it('leaves every total unchanged, for any usage and after any number of runs', async () => {
    const history = fc.tuple(
      fc.array(request, { maxLength: 60 }),
      fc.array(fc.integer({ min: 0, max: 62 * 4 }), { minLength: 1, maxLength: 3 }),
      fc.array(request, { maxLength: 20 }),
    );
    await fc.assert(
      fc.asyncProperty(history, async ([requests, quarters, later]) => {
        const archive = await opened();
        await archive.add(requests);
        const before = await archive.totals();
        for (const quarter of quarters) {
          const cut = firstDayMs + (quarter * day) / 4;
          const old = (await archive.records()).filter(
            ({ startedAtMs, state }) => startedAtMs < cut && state !== 'started',
          );
          const counted = await archive.store.usage.countPrunable({
            recordsBeforeMs: cut,
            answersBeforeMs: 0,
          });
          expect(counted).toEqual({ records: old.length, answers: 0 });
          expect(await archive.prune(cut)).toEqual({ records: old.length, answers: 0, isComplete: true });
          expect(await archive.totals()).toEqual(before);
          const left = await archive.records();
          expect(left.filter(({ startedAtMs, state }) => startedAtMs < cut && state !== 'started')).toEqual(
            [],
          );
          expect(left.length).toBe(left.filter(({ id }) => !old.some((gone) => gone.id === id)).length);
        }
        // New requests on pruned days add to the sums of these days.
        await archive.add(later);
        const more = await archive.totals();
        await archive.prune(firstDayMs + 62 * day);
        expect(await archive.totals()).toEqual(more);
        await archive.store.close();
      }),
      { numRuns: 12 },
    );
  }, 120_000);

  it('keeps the sums of the records', async () => {
    const archive = await opened();
    const one = { account: 0, idLeadMs: 0, atMs: firstDayMs, units: 7, tokens: 100, audioMs: 1_500 } as const;
    await archive.add([
      { ...one, operation: 'chat', model: 'eliza', state: 'ok' },
      { ...one, operation: 'chat', model: 'eliza', state: 'ok', tokens: 1 },
      { ...one, operation: 'speech', model: 'flite', state: 'failed', tokens: undefined },
      { ...one, operation: 'chat', model: 'not a model', state: 'refused', tokens: undefined, units: 0 },
    ]);
    await archive.prune(firstDayMs + day);
    expect(await archive.records()).toEqual([]);
    const query = { accountId: undefined, fromMs: undefined, untilMs: undefined, totalsMax: 10 };
    const totals = await archive.store.usage.totals({ ...query, groupBy: ['operation', 'model', 'state'] });
    const sums = {
      characters: 0n,
      audioMsIn: 0n,
      audioMsOut: 0n,
      promptTokens: 0n,
      completionTokens: 0n,
      cachedTokens: 0n,
      cacheWriteTokens: 0n,
    };
    expect(totals).toEqual([
      {
        of: { operation: 'chat', model: '', state: 'refused' },
        ...sums,
        requests: 1n,
        fairUseUnits: 0n,
        cost: 0n,
      },
      {
        of: { operation: 'chat', model: 'eliza', state: 'ok' },
        ...sums,
        requests: 2n,
        fairUseUnits: 14n,
        cost: 505n,
        promptTokens: 101n,
        completionTokens: 202n,
      },
      {
        of: { operation: 'speech', model: 'flite', state: 'failed' },
        ...sums,
        requests: 1n,
        fairUseUnits: 7n,
        cost: 0n,
        characters: 7n,
        audioMsOut: 1_500n,
      },
    ]);
    expect(await archive.store.usage.totals({ ...query, groupBy: ['model'], totalsMax: 2 })).toBe('too_many');
    await archive.store.close();
  });

  it('works in small steps, stops at its maximum, and continues later', async () => {
    const archive = await opened();
    const many = Array.from({ length: 1_100 }, (_, at) => ({
      account: 0,
      idLeadMs: 0,
      atMs: firstDayMs + at,
      operation: 'speech',
      model: 'flite',
      state: 'ok',
      units: 1,
      tokens: undefined,
      audioMs: 1,
    })) satisfies Request[];
    await archive.add(many);
    const first = await archive.prune(firstDayMs + day, 300);
    expect(first.isComplete).toBe(false);
    expect(first.records).toBeGreaterThanOrEqual(300);
    expect(first.records).toBeLessThan(1_000);
    const rest = await archive.prune(firstDayMs + day);
    expect(rest).toEqual({ records: 1_100 - first.records, answers: 0, isComplete: true });
    const { items } = await archive.store.audit.list({ size: 100, after: undefined });
    // Two accounts, keys and loads, and one entry for each of the two calls.
    expect(items.length).toBe(6 + 2);
    expect(await archive.prune(firstDayMs + day)).toMatchObject({ records: 0, isComplete: true });
    expect((await archive.store.audit.list({ size: 100, after: undefined })).items.length).toBe(8);
    await archive.store.close();
  });

  it('keeps records whose tokens could overflow a total', async () => {
    const archive = await opened();
    const absurd = {
      account: 0,
      idLeadMs: 0,
      atMs: firstDayMs,
      units: 1,
      audioMs: 1,
      tokens: 2 ** 41,
    } as const;
    await archive.add([{ ...absurd, operation: 'chat', model: 'm', state: 'cancelled' }]);
    expect(await archive.prune(firstDayMs + day)).toMatchObject({ records: 0, isComplete: true });
    expect(await archive.records()).toHaveLength(1);
    await archive.store.close();
  });

  it('removes expired idempotency records', async () => {
    const archive = await opened();
    const accountId = archive.accounts[0] ?? newAccountId(1);
    for (let at = 0; at < 45; at++) {
      const key = { accountId, operation: 'chat', key: `k${at}`, fingerprint: 'f' } as const;
      const times = { nowMs: at < 41 ? 1_000 : 3_000, forgetBeforeMs: 0 };
      await archive.store.idempotency.claim({ ...key, ...times, requestId: newRequestId(at) });
    }
    const cut = { recordsBeforeMs: 0, answersBeforeMs: 2_000 };
    expect(await archive.store.usage.countPrunable(cut)).toEqual({ records: 0, answers: 41 });
    expect(await archive.store.usage.prune(cut, 1_000, auditEntry())).toMatchObject({
      answers: 41,
      isComplete: true,
    });
    await archive.store.close();
  });
});

describe('retention', () => {
  const audit = { prune: () => Promise.reject(new Error('audit entries are kept')) };
  afterEach(() => {
    vi.useRealTimers();
  });

  const pruneEndUsers: UsageStore['pruneEndUsers'] = async () => undefined;

  it('removes old counts of end users in steps, also where all records are kept', async () => {
    vi.useFakeTimers();
    const clock = new TestClock();
    const log = { info() {}, warn() {}, error() {} };
    const steps: [after: string, days: number][] = [];
    const usage: Pick<UsageStore, 'prune' | 'pruneEndUsers'> = {
      prune: () => Promise.reject(new Error('must keep records')),
      async pruneEndUsers({ after, beforeMs }) {
        steps.push([after, (clock.nowMs - beforeMs) / day]);
        return steps.length % 2 === 0 ? undefined : 'usr_8';
      },
    };
    const retention = new Retention({ usage, audit, clock, log }, {});
    await vi.advanceTimersByTimeAsync(60_000 + day);
    await retention.close();
    expect(steps).toEqual(
      [...Array(2)].flatMap(() => [
        ['usr_', 63],
        ['usr_8', 63],
      ]),
    );
  });

  it('prunes soon after the start, then daily, until it is closed', async () => {
    vi.useFakeTimers();
    const clock = new TestClock();
    const cuts: number[] = [];
    const logged: string[] = [];
    const log = { info: (_: object, words: string) => logged.push(words), warn() {}, error() {} };
    // Two calls, as if there were more records than one call removes.
    const prune: UsageStore['prune'] = async ({ recordsBeforeMs }) => {
      cuts.push((clock.nowMs - recordsBeforeMs) / day);
      return { records: 1, answers: 0, isComplete: cuts.length % 2 === 0 };
    };
    const retention = new Retention(
      { usage: { prune, pruneEndUsers }, audit, clock, log },
      { usageDays: 30 },
    );
    await vi.advanceTimersByTimeAsync(59_000);
    expect(cuts).toEqual([]);
    await vi.advanceTimersByTimeAsync(1_000);
    expect(cuts).toEqual([30, 30]);
    await vi.advanceTimersByTimeAsync(day);
    expect([cuts.length, logged.length]).toEqual([4, 2]);
    await retention.close();
    await vi.advanceTimersByTimeAsync(2 * day);
    expect(cuts.length).toBe(4);
  });

  it('removes old audit entries in steps, and says so in the trail', async () => {
    const folder = await newStoreFolder();
    const store = await folder.open();
    const clock = new TestClock(firstDayMs);
    for (let at = 0; at < 1_001; at++) {
      const entry = { ...auditEntry(), id: newAuditId(firstDayMs), createdAtMs: firstDayMs };
      await store.accounts.suspend(newAccountId(1), undefined, entry);
    }
    clock.nowMs += 30 * day;
    const kept = { ...auditEntry(), id: newAuditId(clock.nowMs), createdAtMs: clock.nowMs };
    await store.accounts.suspend(newAccountId(1), undefined, kept);
    clock.nowMs += 1;
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    const log = { info: vi.fn(), warn() {}, error: vi.fn() };
    const retention = new Retention(
      { usage: store.usage, audit: store.audit, clock, log },
      { auditDays: 30 },
    );
    vi.advanceTimersByTime(60_000);
    vi.useRealTimers();
    await expect.poll(() => log.info.mock.calls.length).toBe(1);
    await retention.close();
    expect(log.error).not.toHaveBeenCalled();
    const entries = await store.audit.listAfter('', clock.nowMs + 1, 1_000);
    expect(entries.length).toBe(3);
    await store.close();
    await folder.remove();
  });

  it('logs a failure, and tries again the next day', async () => {
    vi.useFakeTimers();
    const failures: string[] = [];
    const log = { info() {}, warn() {}, error: (_: object, words: string) => failures.push(words) };
    const prune = () => Promise.reject(new Error('the disk is full'));
    const retention = new Retention(
      { usage: { prune, pruneEndUsers }, audit, clock: new TestClock(), log },
      { usageDays: 1 },
    );
    await vi.advanceTimersByTimeAsync(60_000 + day);
    expect(failures).toHaveLength(2);
    await retention.close();
  });
});

describe('pruning and totals over REST', () => {
  it('return the same totals before and after', async () => {
    const clock = new TestClock();
    const parley = await startParley({ clock });
    const chat = { model: 'eliza', messages: [{ role: 'user', content: 'Hello.' }] };
    for (let at = 0; at < 3; at++) await (await parley.postJson('/chat/completions', chat)).arrayBuffer();
    await (await parley.postJson('/audio/speech', { model: 'nothing', input: 'a' })).arrayBuffer();
    clock.nowMs += 10 * day;
    const json = async (path: string, init: RequestInit = {}) =>
      (await parley.call(`/admin${path}`, { ...init, ...bearer(parley.adminKey) })).json();
    const totals = () => json('/usage/totals?group_by=month&group_by=operation&group_by=model');
    const before = await totals();
    expect(before).toMatchObject({
      totals: [
        { month: '2026-11', operation: 'chat', model: 'eliza', requests: 3 },
        { month: '2026-11', operation: 'speech', requests: 1, cost: '0' },
      ],
    });
    const body = (dry: boolean) => ({
      method: 'POST',
      body: JSON.stringify({ before: new Date(clock.nowMs - day).toISOString(), dry_run: dry }),
    });
    const removed = { records_removed: 4, answers_removed: 0 };
    expect(await json('/usage/prune', body(true))).toEqual({ ...removed, complete: false });
    expect(await json('/usage/prune', body(false))).toEqual({ ...removed, complete: true });
    expect(await totals()).toEqual(before);
    expect(await json('/usage')).toEqual({ records: [] });
    expect(await json('/audit?page_size=1')).toMatchObject({ entries: [{ action: 'usage.prune' }] });
    const { entries } = (await json('/accounts/account-1/ledger')) as { entries: unknown[] };
    expect(entries).toHaveLength(4);
    await parley.close();
  });
});
