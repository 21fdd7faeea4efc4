/** Plans, trials and fair use: the operations of an account, their times, and their amount per month. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { fakeChat, fakeSpeech, fakeTranscription, withFakes } from '../../support/fake-engines.ts';
import { bearer, errorOf, type Parley, startParley, TestClock } from '../../support/parley.ts';
import { RawClient } from '../../support/raw-http.ts';

/** For events that take a moment, on a machine that may be busy. */
const soon = { timeout: 120_000 };

type Json = Record<string, unknown>;

const dayMs = 24 * 3_600_000;
const settings = {
  fairUse: { planUnitsPerMonth: 100, trialUnitsPerMonth: 40, transcriptionUnitsPerSecond: 15 },
};
/** Controls when the engines go on, and the length of recordings. */
const engine = { goesOn: Promise.resolve(), runs: 0, durationsMs: [1000] };
const engines = withFakes({
  chat: fakeChat(),
  speech: fakeSpeech({
    synthesize: () => ({
      audio: (async function* () {
        engine.runs++;
        await engine.goesOn;
        yield Buffer.alloc(100, 1);
      })(),
      durationMs: () => 100,
    }),
  }),
  transcription: fakeTranscription({
    transcribe: async function* () {
      engine.runs++;
      for (const durationMs of engine.durationsMs) yield { kind: 'audio', durationMs };
      await engine.goesOn;
      yield { kind: 'done', durationMs: engine.durationsMs.at(-1) ?? 0, language: 'english' };
    },
  }),
});

let clock: TestClock;
let parley: Parley;
beforeEach(async () => {
  Object.assign(engine, { goesOn: Promise.resolve(), runs: 0, durationsMs: [1000] });
  clock = new TestClock(Date.UTC(2026, 2, 10, 12));
  parley = await startParley({ engines, clock, settings });
});
afterEach(() => parley.close());

const isoDate = (ms: number) => new Date(ms).toISOString().replace('.000Z', 'Z');
const activate = (account: string, endsAtMs: number) =>
  parley.admin(`/accounts/${account}/plan`, { ends_at: isoDate(endsAtMs) });

/** A new account without a plan, with credits if given. */
async function newAccount(credits?: string) {
  const key = await parley.newKey(credits === undefined ? {} : { credits });
  const { name } = await accountOf(key);
  return { key, name };
}

const accountOf = async (key: string) =>
  (await (await parley.call('/account', bearer(key))).json()) as {
    name: string;
    subscription: { state: string; started_at?: string; ends_at?: string };
    fair_use: { limit_units: number; used_units: number; resets_at: string };
  };
const subscriptionOf = async (key: string) => (await accountOf(key)).subscription;
const usedBy = async (key: string) => (await accountOf(key)).fair_use.used_units;

const speak = (key: string, input = 'Hello.') =>
  parley.postJson('/audio/speech', { model: 'flite', input }, bearer(key));
function transcribe(key: string): Promise<Response> {
  const body = new FormData();
  body.append('file', new Blob(['audio']), 'a.wav');
  return parley.call('/audio/transcriptions', { method: 'POST', body, ...bearer(key) });
}

/** Whether a key can call speech and transcription. The catalog and the operations must agree. */
async function isOpen(key: string): Promise<boolean> {
  const { data } = (await (await parley.call('/models', bearer(key))).json()) as { data: { type: string }[] };
  const listed = data.map(({ type }) => type);
  expect(listed).toContain('chat');
  const open = listed.includes('speech');
  expect(listed).toEqual(open ? ['speech', 'transcription', 'chat'] : ['chat']);
  for (const type of ['speech', 'transcription']) {
    const found = await parley.call(`/models?type=${type}`, bearer(key));
    expect(((await found.json()) as { data: [] }).data.length).toBe(open ? 1 : 0);
  }
  for (const response of [await speak(key), await transcribe(key)]) {
    if (open) expect(response.status).toBe(200);
    else {
      expect(response.headers.get('x-should-retry')).toBe('false');
      expect(await errorOf(response)).toMatchObject({ status: 402, code: 'subscription_required' });
      expect(await parley.recordOf(response)).toMatchObject({ state: 'refused', fairUseUnits: undefined });
    }
  }
  return open;
}

describe('an account', () => {
  it('without a plan has neither speech nor transcription, whatever credits it has', async () => {
    const { key, name } = await newAccount('100');
    expect(await subscriptionOf(key)).toEqual({ state: 'none' });
    expect(await isOpen(key)).toBe(false);
    await parley.admin(`/accounts/${name}/credits`, {
      amount: '1000',
      reason: 'more',
      idempotency_key: 'more',
    });
    expect(await isOpen(key)).toBe(false);
    expect((await accountOf(key)).fair_use.limit_units).toBe(0);
    expect(engine.runs).toBe(0);
  });

  it('has them for the 14 days of its trial, once', async () => {
    const { key, name } = await newAccount();
    expect((await parley.admin(`/accounts/${name}/trial`, {})).status).toBe(200);
    const trial = { started_at: isoDate(clock.nowMs), ends_at: isoDate(clock.nowMs + 14 * dayMs) };
    expect(await subscriptionOf(key)).toEqual({ state: 'trial', ...trial });
    expect((await accountOf(key)).fair_use.limit_units).toBe(40);
    clock.nowMs += 14 * dayMs - 1;
    expect(await isOpen(key)).toBe(true);
    clock.nowMs += 1;
    expect(await isOpen(key)).toBe(false);
    expect(await subscriptionOf(key)).toEqual({ state: 'ended', ...trial });
    const again = await parley.admin(`/accounts/${name}/trial`, {});
    expect(await errorOf(again)).toMatchObject({
      status: 400,
      code: 'invalid_parameter',
      param: 'account_id',
    });
    expect(await isOpen(key)).toBe(false);
  });

  it('has them on its plan until its end, which can be moved without moving the start', async () => {
    const { key, name } = await newAccount();
    const started_at = isoDate(clock.nowMs);
    expect((await activate(name, clock.nowMs + 10 * dayMs)).status).toBe(200);
    clock.nowMs += 5 * dayMs;
    const ends_at = isoDate(clock.nowMs + 20 * dayMs);
    expect((await activate(name, clock.nowMs + 20 * dayMs)).status).toBe(200);
    expect(await subscriptionOf(key)).toEqual({ state: 'active', started_at, ends_at });
    expect((await accountOf(key)).fair_use.limit_units).toBe(100);
    clock.nowMs += 20 * dayMs - 1;
    expect(await isOpen(key)).toBe(true);
    clock.nowMs += 1;
    expect(await isOpen(key)).toBe(false);
    expect(await subscriptionOf(key)).toEqual({ state: 'ended', started_at, ends_at });
    const restarted_at = isoDate(clock.nowMs);
    await activate(name, clock.nowMs + dayMs);
    expect(await subscriptionOf(key)).toMatchObject({ state: 'active', started_at: restarted_at });
    expect(await isOpen(key)).toBe(true);
  });

  it.each(['trial', 'plan', 'both'])('loses them at once if its %s is ended', async (what) => {
    const { key, name } = await newAccount();
    if (what !== 'plan') await parley.admin(`/accounts/${name}/trial`, {});
    if (what !== 'trial') await activate(name, clock.nowMs + 30 * dayMs);
    clock.nowMs += dayMs;
    expect(await isOpen(key)).toBe(true);
    expect((await parley.admin(`/accounts/${name}/plan/end`, {})).status).toBe(200);
    expect(await isOpen(key)).toBe(false);
    expect(await subscriptionOf(key)).toMatchObject({ state: 'ended', ends_at: isoDate(clock.nowMs) });
    expect(await errorOf(await parley.admin(`/accounts/${name}/plan/end`, {}))).toMatchObject({
      status: 400,
    });
    expect((await activate(name, clock.nowMs + dayMs)).status).toBe(200);
    expect(await isOpen(key)).toBe(true);
  });

  it('finishes running requests when its plan ends', async () => {
    const { key, name } = await newAccount();
    await activate(name, clock.nowMs + dayMs);
    const goesOn = Promise.withResolvers<void>();
    engine.goesOn = goesOn.promise;
    const both = [speak(key), transcribe(key)];
    await expect.poll(() => engine.runs, soon).toBe(2);
    await parley.admin(`/accounts/${name}/plan/end`, {});
    goesOn.resolve();
    for (const response of await Promise.all(both)) expect(response.status).toBe(200);
    expect(await usedBy(key)).toBe(6 + 15);
  });

  it.each<[string, Json]>([
    ['in the past', { ends_at: '2026-03-10T11:59:59Z' }],
    ['now', { ends_at: '2026-03-10T12:00:00Z' }],
    ['that is none', { ends_at: 'soon' }],
    ['left out', {}],
  ])('gets no plan until a moment %s', async (_, body) => {
    const { key, name } = await newAccount();
    const refused = await parley.admin(`/accounts/${name}/plan`, body);
    expect(await errorOf(refused)).toMatchObject({
      status: 400,
      code: 'invalid_parameter',
      param: 'ends_at',
    });
    expect(await subscriptionOf(key)).toEqual({ state: 'none' });
  });
});

describe('fair use', () => {
  const onTrial = async () => parley.newKey({ trial: true });
  const onPlan = async () => {
    const { key, name } = await newAccount();
    await activate(name, clock.nowMs + 365 * dayMs);
    return key;
  };
  const isReached = async (response: Response, resetsAt: string) => {
    expect(response.headers.get('x-should-retry')).toBe('false');
    const error = await errorOf(response);
    expect(error).toMatchObject({ status: 402, code: 'fair_use_limit_reached' });
    expect(error.message).toContain(resetsAt);
    expect(await parley.recordOf(response)).toMatchObject({ state: 'refused' });
  };

  it.each([
    ['the trial', onTrial, 40],
    ['the plan', onPlan, 100],
  ])('of %s is met to the unit, by speech and transcription together', async (_, newKey, limit) => {
    const key = await newKey();
    expect((await transcribe(key)).status).toBe(200);
    await isReached(await speak(key, 'a'.repeat(limit - 14)), '2026-04-01');
    expect((await speak(key, 'a'.repeat(limit - 15))).status).toBe(200);
    expect(await usedBy(key)).toBe(limit);
    await isReached(await speak(key, 'a'), '2026-04-01');
    await isReached(await transcribe(key), '2026-04-01');
    expect((await accountOf(key)).fair_use).toEqual({
      limit_units: limit,
      used_units: limit,
      resets_at: '2026-04-01T00:00:00Z',
    });
  });

  it('of the trial counts towards that of the plan in the same month', async () => {
    const key = await onTrial();
    expect((await speak(key, 'a'.repeat(40))).status).toBe(200);
    await isReached(await speak(key, 'a'), '2026-04-01');
    await activate((await accountOf(key)).name, clock.nowMs + dayMs);
    expect((await speak(key, 'a'.repeat(60))).status).toBe(200);
    await isReached(await speak(key, 'a'), '2026-04-01');
  });

  it('is reserved while requests run, so that no more are admitted at once than one after the other', async () => {
    const key = await onTrial();
    const goesOn = Promise.withResolvers<void>();
    engine.goesOn = goesOn.promise;
    const together = Array.from({ length: 8 }, () => speak(key, 'a'.repeat(11)));
    await expect.poll(() => engine.runs, soon).toBe(3);
    expect(await usedBy(key)).toBe(33);
    goesOn.resolve();
    const statuses = (await Promise.all(together)).map(({ status }) => status);
    expect(statuses.filter((status) => status === 200).length).toBe(3);
    expect(statuses.filter((status) => status === 402).length).toBe(5);
    expect(await usedBy(key)).toBe(33);
  });

  it('counts the longest reported duration of a recording, and returns all units if that exceeds the limit', async () => {
    const key = await onTrial();
    engine.durationsMs = [1500, 1800, 900];
    const response = await transcribe(key);
    expect(await parley.recordOf(response)).toMatchObject({ fairUseUnits: 30, audioMsIn: 1800 });
    expect(await usedBy(key)).toBe(30);
    engine.durationsMs = [500, 2000];
    await isReached(await transcribe(key), '2026-04-01');
    expect(await usedBy(key)).toBe(30);
  });

  it('of a month begins with the month in UTC', async () => {
    const key = await onPlan();
    clock.nowMs = Date.UTC(2026, 3, 1) - 1;
    expect((await speak(key, 'a'.repeat(100))).status).toBe(200);
    await isReached(await speak(key, 'a'), '2026-04-01T00:00:00');
    clock.nowMs += 1;
    expect(await usedBy(key)).toBe(0);
    expect((await accountOf(key)).fair_use.resets_at).toBe('2026-05-01T00:00:00Z');
    expect((await speak(key, 'a'.repeat(100))).status).toBe(200);
    clock.nowMs = Date.UTC(2027, 0, 1) - 1;
    expect((await accountOf(key)).fair_use.resets_at).toBe('2027-01-01T00:00:00Z');
  });

  it.each(['is settled', 'fails'])(
    'of a request counts in the month of its admission, even if it %s in the next',
    async (how) => {
      const key = await onPlan();
      clock.nowMs = Date.UTC(2026, 3, 1) - 1;
      const goesOn = Promise.withResolvers<void>();
      engine.goesOn = goesOn.promise;
      const response = speak(key, 'a'.repeat(70));
      await expect.poll(() => engine.runs, soon).toBe(1);
      clock.nowMs += 1;
      expect(await usedBy(key), 'in April, while it runs').toBe(0);
      const whole = speak(key, 'a'.repeat(100));
      await expect.poll(() => engine.runs, soon).toBe(2);
      clock.nowMs -= 1;
      expect(await usedBy(key), 'in March').toBe(70);
      clock.nowMs += 1;
      if (how === 'fails') goesOn.reject(new Error('no'));
      else goesOn.resolve();
      const statuses = (await Promise.all([response, whole])).map(({ status }) => status);
      expect(statuses).toEqual(how === 'fails' ? [500, 500] : [200, 200]);
      expect(await usedBy(key), 'in April').toBe(how === 'fails' ? 0 : 100);
      clock.nowMs -= 1;
      expect(await usedBy(key), 'in March').toBe(how === 'fails' ? 0 : 70);
    },
  );

  it('of an upload over the month’s end counts in the month in which it began', async () => {
    const key = await onPlan();
    clock.nowMs = Date.UTC(2026, 3, 1) - 1;
    const client = await RawClient.open(parley.baseUrl);
    const body = JSON.stringify({ model: 'flite', input: 'a'.repeat(30) });
    const head = `POST /api/v1/audio/speech HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${key}\r\n`;
    await client.write(`${head}content-length: ${body.length}\r\n\r\n${body.slice(0, 10)}`);
    await new Promise((resolve) => setTimeout(resolve, 100));
    clock.nowMs += 1;
    await client.write(body.slice(10));
    await expect.poll(() => client.received, soon).toContain('0\r\n\r\n');
    client.close();
    expect(await usedBy(key), 'in April').toBe(0);
    clock.nowMs -= 1;
    expect(await usedBy(key), 'in March').toBe(30);
  });

  it('of a recording that becomes longer after the month’s end counts in the month of its admission', async () => {
    const key = await onPlan();
    clock.nowMs = Date.UTC(2026, 3, 1) - 1;
    const goesOn = Promise.withResolvers<void>();
    engine.goesOn = goesOn.promise;
    engine.durationsMs = [1000];
    const response = transcribe(key);
    await expect.poll(() => usedBy(key), soon).toBe(15);
    clock.nowMs += 1;
    engine.durationsMs = [3000];
    goesOn.resolve();
    expect((await response).status).toBe(200);
    expect(await usedBy(key), 'in April').toBe(0);
    clock.nowMs -= 1;
    expect(await usedBy(key), 'in March').toBe(45);
  });
});
