/** Accounts, plans, months, budgets and engines that end while a turn is spoken. */
import { create } from '@bufbuild/protobuf';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import * as pb from '../../../gen/parley/admin/v1/admin_pb.ts';
import * as keyPb from '../../../gen/parley/management/v1/management_pb.ts';
import { cliCall } from '../../../src/core/access/call.ts';
import { ParleyError } from '../../../src/core/values/errors.ts';
import { fakeTranscription, withFakes } from '../../support/fake-engines.ts';
import { LiveClient, liveWires } from '../../support/live-client.ts';
import { Ear, rate } from '../../support/live-ear.ts';
import { type Parley, startParley, TestClock } from '../../support/parley.ts';

const seconds = (count: number) => new Int16Array(count * rate);
const minuteMs = 60_000;
const dayMs = 24 * 60 * minuteMs;

let clock: TestClock;
let parley: Parley;
let ear: Ear;

beforeEach(async () => {
  ear = new Ear();
  clock = new TestClock(Date.UTC(2026, 2, 10, 12));
  parley = await startParley({
    clock,
    settings: {
      fairUse: { trialUnitsPerMonth: 1_000, planUnitsPerMonth: 1_000, transcriptionUnitsPerSecond: 1 },
    },
    engines: withFakes({ transcription: fakeTranscription({ openSpeaker: () => ear.openSpeaker() }) }),
  });
});
afterEach(() => parley.close());

/** A turn of which six seconds have been heard. */
async function speaking(options?: ConstructorParameters<typeof LiveClient>[1]): Promise<LiveClient> {
  const client = new LiveClient(parley, options);
  client.configure();
  client.speak(seconds(6));
  await expect.poll(() => ear.turns.at(-1)?.seconds).toBe(6);
  return client;
}

async function used(): Promise<Record<string, number>> {
  const { units } = await parley.books();
  return Object.fromEntries(units.map(({ month, used, reserved }) => [month, used + reserved]));
}

/** The ends of all requests, oldest first. */
async function ends(): Promise<readonly (readonly [string, number | undefined])[]> {
  const { items } = await parley.app.store.usage.list({}, { size: 100, after: undefined });
  return items.toReversed().map(({ state, code, fairUseUnits }) => [code ?? state, fairUseUnits] as const);
}

const account = () => ({ accountId: parley.accountId });
const isoTime = (ms: number) => ({ seconds: BigInt(ms / 1000) });

async function newPlan(endsAtMs: number): Promise<string> {
  const key = await parley.newKey();
  const found = await parley.app.store.accounts.find('account-2');
  const request = { accountId: found?.id ?? '', endsAt: isoTime(endsAtMs) };
  await parley.app.services.accounts.activatePlan(create(pb.ActivatePlanRequestSchema, request), cliCall);
  return key;
}

describe('a turn is heard to the end of what is reserved, then its session ends', () => {
  it.each(Object.keys(liveWires))('once its account is suspended, over %s', async (wire) => {
    const client = await speaking({ wire });
    await parley.app.services.accounts.suspendAccount(
      create(pb.SuspendAccountRequestSchema, account()),
      cliCall,
    );
    client.speak(seconds(6));
    expect(await client.ended).toBe('account_suspended');
    expect(client.all('turn')).toMatchObject([{ seconds: 10 }]);
    expect(await used()).toEqual({ '2026-03': 10 });
  });

  it('once its trial has ended', async () => {
    const client = await speaking();
    clock.nowMs += 15 * dayMs;
    client.speak(seconds(6));
    expect(await client.ended).toBe('subscription_required');
    expect(client.all('turn')).toMatchObject([{ seconds: 10 }]);
    expect(await used()).toEqual({ '2026-03': 10 });
    expect(await ends()).toEqual(
      expect.arrayContaining([
        ['ok', 10],
        ['subscription_required', 0],
      ]),
    );
  });

  it('once its plan has ended', async () => {
    const client = await speaking({ key: await newPlan(clock.nowMs + minuteMs) });
    clock.nowMs += minuteMs;
    client.speak(seconds(6));
    expect(await client.ended).toBe('subscription_required');
    expect(client.all('turn')).toMatchObject([{ seconds: 10 }]);
  });

  it('once the seconds of its day are used up, with those that are left', async () => {
    const limits = { audioSecondsPerDay: 14 };
    await parley.app.services.accounts.setAccountLimits(
      create(pb.SetAccountLimitsRequestSchema, { ...account(), limits }),
      cliCall,
    );
    const client = await speaking();
    client.speak(seconds(9));
    expect(await client.ended).toBe('rate_limit_exceeded');
    expect(client.all('turn')).toMatchObject([{ seconds: 14 }]);
    const next = new LiveClient(parley);
    next.configure();
    next.speak(seconds(1));
    expect(await next.ended).toBe('rate_limit_exceeded');
    expect(next.all('failure')).toMatchObject([{ turn: 1, code: 'rate_limit_exceeded' }]);
    expect(await used()).toEqual({ '2026-03': 14 });
  });
});

describe('a turn outlives', () => {
  it('the month of its start, which it counts in', async () => {
    clock.nowMs = Date.UTC(2026, 3, 1) - 1000;
    const client = await speaking({ key: await newPlan(Date.UTC(2026, 5, 1)) });
    clock.nowMs += 2_000;
    client.speak(seconds(6));
    client.commit();
    expect(await client.next('turn')).toMatchObject({ seconds: 12 });
    client.speak(seconds(5));
    expect(await client.finish()).toBeUndefined();
    expect(client.all('turn')).toMatchObject([{ seconds: 12 }, { seconds: 5 }]);
    expect(await used()).toEqual({ '2026-03': 12, '2026-04': 5 });
  });

  it('a new key of its account, as it goes on with its own', async () => {
    const client = await speaking();
    const { keys } = await parley.app.services.accounts.listKeys(
      create(keyPb.ListKeysRequestSchema, account()),
      cliCall,
    );
    const request = { keyId: keys?.[0]?.id ?? '', overlapSeconds: 3_600 };
    await parley.app.services.accounts.rotateKey(create(keyPb.RotateKeyRequestSchema, request), cliCall);
    client.speak(seconds(6));
    expect(await client.finish()).toBeUndefined();
    expect(client.all('turn')).toMatchObject([{ seconds: 12 }]);
  });
});

describe('a slow recogniser', () => {
  it('slows its client after four turns, and loses none', async () => {
    let goOn = () => {};
    ear.goesOn = new Promise<void>((resolve) => {
      goOn = resolve;
    });
    const client = new LiveClient(parley);
    client.configure();
    for (let turn = 0; turn < 8; turn++) {
      client.speak(seconds(1));
      client.commit();
    }
    await expect.poll(() => ear.turns.length).toBe(5);
    expect(client.all('turn')).toEqual([]);
    goOn();
    expect(await client.finish()).toBeUndefined();
    expect(client.all('turn').map(({ turn }) => turn)).toEqual([1, 2, 3, 4, 5, 6, 7, 8]);
    expect(await used()).toEqual({ '2026-03': 8 });
  });

  it('that fails after its client has left is paid by nobody', async () => {
    ear.goesOn = Promise.reject(new ParleyError('internal_error'));
    ear.goesOn.catch(() => undefined);
    const client = await speaking();
    client.commit();
    client.leave();
    // The session and its turn.
    await expect.poll(async () => (await ends()).filter(([code]) => code !== 'started').length).toBe(2);
    expect(await used()).toEqual({ '2026-03': 0 });
  });
});
