/** Budgets of keys and accounts, and amounts per day, over REST. */
import { create } from '@bufbuild/protobuf';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import * as pb from '../../../gen/parley/admin/v1/admin_pb.ts';
import * as keyPb from '../../../gen/parley/management/v1/management_pb.ts';
import { cliCall } from '../../../src/core/access/call.ts';
import { formatCredits, nanoCredits, nanoCreditsPerCredit } from '../../../src/core/values/money.ts';
import {
  countStatuses,
  type LimitedKey,
  type LimitedParley,
  startLimited,
} from '../../support/limited-parley.ts';
import { bearer, errorOf } from '../../support/parley.ts';
import { Random } from '../../support/random.ts';

const soon = { timeout: 120_000 };

let parley: LimitedParley;
beforeEach(async () => {
  parley = await startLimited();
  await load('1000');
});
afterEach(() => parley.close());

async function load(amount: string): Promise<void> {
  const { accountId } = parley;
  const request = { accountId, amount, reason: 'test', idempotencyKey: `load ${amount}` };
  await parley.app.services.accounts.loadCredits(create(pb.LoadCreditsRequestSchema, request), cliCall);
}

/** The used amount of each limit of a key. */
async function countsOf({ id }: LimitedKey): Promise<Record<string, string>> {
  const request = create(keyPb.ListKeysRequestSchema, { accountId: parley.accountId });
  const { keys } = await parley.app.services.accounts.listKeys(request, cliCall);
  const key = keys.find((known) => known.id === id);
  return Object.fromEntries((key?.limitCounts ?? []).map(({ name, used }) => [name, used]));
}

describe('a budget', () => {
  it.each(['day', 'month', 'total'] as const)(
    'for 10 chats (%s) lets exactly 10 of 200 at once pass',
    async (period) => {
      const key = await parley.keyWith({ budgets: { [period]: '10' } });
      const answers = await Promise.all(Array.from({ length: 200 }, () => key.chat(1)));
      expect(countStatuses(answers)).toEqual({ 200: 10, 402: 190 });
      expect(await countsOf(key)).toEqual({ [`budgets.${period}`]: '10' });
      const refused = await key.chat(1);
      expect(refused.headers.get('x-should-retry')).toBe('false');
      expect(await errorOf(refused)).toMatchObject({ code: 'budget_exceeded', type: 'insufficient_quota' });
    },
  );

  it('of an account lets exactly 10 of 200 at once pass, over all its keys', async () => {
    await parley.setAccountLimits({ budgets: { month: '10' } });
    const keys = await Promise.all(Array.from({ length: 4 }, () => parley.keyWith({})));
    const answers = await Promise.all(keys.flatMap((key) => Array.from({ length: 50 }, () => key.chat(1))));
    expect(countStatuses(answers)).toEqual({ 200: 10, 402: 190 });
  });

  it("gets back the unused part of a chat's hold", async () => {
    const key = await parley.keyWith({ budgets: { total: '10' } });
    parley.engine.completionTokens = 2;
    expect((await key.chat(9)).status).toBe(200);
    parley.engine.fails = true;
    expect((await key.chat(8)).status).toBe(500);
    parley.engine.fails = false;
    expect(await countsOf(key)).toEqual({ 'budgets.total': '2' });
    expect((await key.chat(8)).status).toBe(200);
    expect(await countsOf(key)).toEqual({ 'budgets.total': '4' });
  });

  it('releases the budget of a chat that the balance refuses', async () => {
    const key = await parley.keyWith({ budgets: { total: '5000' } });
    parley.engine.completionTokens = 1;
    const { promise, resolve } = Promise.withResolvers<void>();
    parley.engine.goesOn = promise;
    const running = [key.chat(1000), key.chat(10)];
    await vi.waitFor(() => expect(parley.engine.running).toBe(2), soon);
    expect(await errorOf(await key.chat(1))).toMatchObject({ code: 'insufficient_credits' });
    expect(await countsOf(key)).toEqual({ 'budgets.total': '1010' });
    resolve();
    expect(countStatuses(await Promise.all(running))).toEqual({ 200: 2 });
    expect(await countsOf(key)).toEqual({ 'budgets.total': '2' });
  });

  it('limits an answer to the remaining budget', async () => {
    const key = await parley.keyWith({ budgets: { day: '3' } });
    expect((await key.chat(500)).status).toBe(200);
    expect(parley.engine.outputLimits).toEqual([3]);
    const { message } = await errorOf(await key.chat(500));
    expect(message).toBe(
      'This API key has a budget of 3 credits per day; 0 are left, which do not cover this request. It resets at 2026-11-11T00:00:00.000Z.',
    );
  });

  it('is not named as the reason if a chat loses every race for credits', async () => {
    const key = await parley.keyWith({ budgets: { day: '10' } });
    const { store } = parley.app;
    const reserve = store.requests.reserve.bind(store.requests);
    const allButFive = (await store.ledger.available(parley.accountId)) - 5n * nanoCreditsPerCredit;
    let moves = 0;
    const move = async (nano: bigint) => {
      const amount = formatCredits(nanoCredits(nano));
      const entry = { accountId: parley.accountId, amount, reason: 'test', idempotencyKey: `${++moves}` };
      const { accounts } = parley.app.services;
      await accounts.adjustCredits(create(pb.AdjustCreditsRequestSchema, entry), cliCall);
    };
    // Other requests hold nearly all credits during each attempt, and none between two attempts.
    const reserving = vi.spyOn(store.requests, 'reserve').mockImplementation(async (...attempt) => {
      await move(-allButFive);
      const outcome = await reserve(...attempt);
      await move(allButFive);
      return outcome;
    });
    expect(await errorOf(await key.chat(500))).toMatchObject({ code: 'insufficient_credits', status: 402 });
    expect(reserving.mock.calls.length).toBeGreaterThan(1);
    reserving.mockRestore();
    expect((await key.chat(500)).status).toBe(200);
  });

  it.each(['key', 'account'])('of the %s limits the cost of an answer beyond its hold', async (owner) => {
    const limits = { budgets: { day: '7', total: '4' } };
    if (owner === 'account') await parley.setAccountLimits(limits);
    const key = await parley.keyWith(owner === 'key' ? limits : {});
    // A model that ignores its limit, and reports correctly.
    Object.assign(parley.engine, { text: 'one two three four five six', completionTokens: 6 });
    const { promise, resolve } = Promise.withResolvers<void>();
    parley.engine.goesOn = promise;
    const running = [key.chat(1), key.chat(1)];
    await vi.waitFor(() => expect(parley.engine.running).toBe(2), soon);
    resolve();
    const records = await Promise.all(running.map(async (answer) => parley.recordOf(await answer)));
    // The first request uses the amount that the second one holds.
    const credit = nanoCreditsPerCredit;
    expect(records.map(({ cost, overrun }) => [cost, overrun]).toSorted()).toEqual([
      [credit, 5n * credit],
      [3n * credit, 3n * credit],
    ]);
    expect(await errorOf(await key.chat(1))).toMatchObject({ code: 'budget_exceeded' });
    if (owner === 'key') expect(await countsOf(key)).toEqual({ 'budgets.day': '4', 'budgets.total': '4' });
  });

  it('starts again with the first moment of a day and a month', async () => {
    parley.clock.nowMs = Date.UTC(2026, 10, 30, 23, 59, 59, 999);
    const key = await parley.keyWith({ budgets: { day: '1', month: '2' } });
    expect((await key.chat(1)).status).toBe(200);
    expect((await key.chat(1)).status).toBe(402);
    parley.clock.nowMs += 1;
    expect((await key.chat(1)).status).toBe(200);
    parley.clock.nowMs += 86_400_000;
    expect((await key.chat(1)).status).toBe(200);
    parley.clock.nowMs += 86_400_000;
    expect(await errorOf(await key.chat(1))).toMatchObject({
      message: expect.stringContaining('a budget of 2 credits per month'),
    });
  });

  it('does not count free chats, and continues under a key that replaces another', async () => {
    const key = await parley.keyWith({ budgets: { total: '1' } });
    expect((await key.chat(1)).status).toBe(200);
    expect((await key.chat(1, 'free-1')).status).toBe(200);
    const rotated = await parley.admin(`/keys/${key.id}/rotate`, {});
    const { secret } = (await rotated.json()) as { secret: string };
    const body = { model: 'm', messages: [{ role: 'user', content: 'a' }], max_tokens: 1 };
    expect((await parley.postJson('/chat/completions', body, bearer(secret))).status).toBe(402);
  });
});

describe('amounts per day', () => {
  it('are characters to speak', async () => {
    const key = await parley.keyWith({ charactersPerDay: 10 });
    const answers = await Promise.all(Array.from({ length: 6 }, () => key.speak('four')));
    expect(countStatuses(answers)).toEqual({ 200: 2, 429: 4 });
    expect((await key.speak('ab')).status).toBe(200);
    const refused = await key.speak('a');
    expect(refused.headers.get('retry-after')).toBe(String(12 * 3600));
    expect(await errorOf(refused)).toMatchObject({
      code: 'rate_limit_exceeded',
      message:
        'This API key has 10 characters to speak per day; 0 are left. It resets at 2026-11-11T00:00:00.000Z.',
    });
    parley.clock.nowMs = Date.UTC(2026, 10, 11);
    expect((await key.speak('four')).status).toBe(200);
  });

  it('are seconds of audio to transcribe, counted while they are decoded', async () => {
    const key = await parley.keyWith({ audioSecondsPerDay: 10 });
    parley.engine.seconds = 3.5;
    const answers = await Promise.all(Array.from({ length: 6 }, () => key.transcribe()));
    expect(countStatuses(answers)).toEqual({ 200: 2, 429: 4 });
    expect(await countsOf(key)).toEqual({ audio_seconds_per_day: '8' });
    parley.engine.seconds = 2;
    expect((await key.transcribe()).status).toBe(200);
    expect((await key.transcribe()).status).toBe(429);
  });

  it('are returned by failed requests', async () => {
    const key = await parley.keyWith({ audioSecondsPerDay: 10, charactersPerDay: 10 });
    parley.engine.fails = true;
    parley.engine.seconds = 8;
    expect((await key.transcribe()).status).toBe(500);
    expect((await key.speak('a text')).status).toBe(500);
    expect(await countsOf(key)).toEqual({ audio_seconds_per_day: '0', characters_per_day: '0' });
  });
});

describe('random histories', () => {
  it.each([2, 3, 4])('keep every budget, and count exactly the spent credits (seed %i)', async (seed) => {
    const random = new Random(seed);
    const keys = [
      await parley.keyWith({ budgets: { day: '12', total: '30' } }),
      await parley.keyWith({ budgets: { month: '20' } }),
      await parley.keyWith({}),
    ];
    await parley.setAccountLimits({ budgets: { day: '40' } });
    // Answers of sixteen tokens exceed their limit.
    parley.engine.text = 'one two three four '.repeat(4).trim();
    let overruns = 0;
    const spent = new Map<string, number>();
    const spend = (count: string, credits: number) => spent.set(count, (spent.get(count) ?? 0) + credits);
    for (let round = 0; round < 12; round++) {
      const day = new Date(parley.clock.nowMs).toISOString().slice(0, 10);
      parley.engine.fails = random.onceIn(5);
      parley.engine.completionTokens = random.onceIn(3) ? undefined : random.pick([1, 16]);
      const chats = Array.from({ length: random.between(1, 12) }, () => keys.indexOf(random.pick(keys)));
      const answers = await Promise.all(
        chats.map(async (at) => ({ at, answer: await keys[at]?.chat(random.between(1, 4)) })),
      );
      for (const { at, answer } of answers) {
        if (answer?.status !== 200) continue;
        const { cost = 0n, overrun } = await parley.recordOf(answer);
        if (overrun !== undefined) overruns++;
        for (const count of [`${at} ${day}`, `${at} all`, `account ${day}`])
          spend(count, Number(cost / nanoCreditsPerCredit));
      }
      expect(spent.get(`0 ${day}`) ?? 0).toBeLessThanOrEqual(12);
      expect(spent.get('0 all') ?? 0).toBeLessThanOrEqual(30);
      expect(spent.get('1 all') ?? 0).toBeLessThanOrEqual(20);
      expect(spent.get(`account ${day}`) ?? 0).toBeLessThanOrEqual(40);
      const [first, second] = keys as [LimitedKey, LimitedKey];
      expect(await countsOf(first)).toEqual({
        'budgets.day': String(spent.get(`0 ${day}`) ?? 0),
        'budgets.total': String(spent.get('0 all') ?? 0),
      });
      expect(await countsOf(second)).toEqual({ 'budgets.month': String(spent.get('1 all') ?? 0) });
      if (random.onceIn(3)) parley.clock.nowMs += 86_400_000;
    }
    expect(spent.get('0 all')).toBeGreaterThan(0);
    expect(overruns).toBeGreaterThan(0);
  });
});
