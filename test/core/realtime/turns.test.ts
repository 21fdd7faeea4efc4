/** Turns of live sessions as requests: their reservations, records and costs, and the end of a session. */
import { create } from '@bufbuild/protobuf';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import * as pb from '../../../gen/parley/admin/v1/admin_pb.ts';
import { cliCall } from '../../../src/core/access/call.ts';
import type { UsageRecord } from '../../../src/core/entities/usage.ts';
import { ParleyError } from '../../../src/core/values/errors.ts';
import { fakeTranscription, withFakes } from '../../support/fake-engines.ts';
import { LiveClient } from '../../support/live-client.ts';
import { Ear, rate } from '../../support/live-ear.ts';
import { type Parley, startParley } from '../../support/parley.ts';

const seconds = (count: number) => new Int16Array(count * rate);

let parley: Parley;
let ear: Ear;

/** A second costs one unit. */
async function start(trialUnitsPerMonth = 1_000): Promise<void> {
  ear = new Ear();
  const transcription = fakeTranscription({ openSpeaker: () => ear.openSpeaker() });
  parley = await startParley({
    settings: { fairUse: { trialUnitsPerMonth, transcriptionUnitsPerSecond: 1 } },
    engines: withFakes({ transcription }),
  });
}

beforeEach(() => start());
afterEach(() => parley.close());

/** The ended records of live transcription, oldest first. */
async function records(count: number): Promise<readonly UsageRecord[]> {
  const ended = async () => {
    const { items } = await parley.app.store.usage.list({}, { size: 100, after: undefined });
    return items.filter(({ state }) => state !== 'started').toReversed();
  };
  await expect.poll(async () => (await ended()).length).toBe(count);
  return ended();
}

const shown = ({ state, code, audioMsIn, fairUseUnits }: UsageRecord) => ({
  state,
  code,
  audioMsIn,
  fairUseUnits,
});
const ok = (ms: number) => ({
  state: 'ok',
  code: undefined,
  audioMsIn: ms,
  fairUseUnits: Math.ceil(ms / 1000),
});
const session = { state: 'ok', code: undefined, audioMsIn: undefined, fairUseUnits: 0 };

async function unitsUsed(): Promise<number> {
  const { units } = await parley.books();
  return units.reduce((sum, { used, reserved }) => sum + used + reserved, 0);
}

describe('a turn', () => {
  it('costs its started seconds, with a record beside that of the session', async () => {
    const client = new LiveClient(parley);
    client.configure();
    client.speak(seconds(2.5));
    client.commit();
    const first = await client.next('turn');
    expect(first).toMatchObject({ turn: 1, text: 'heard 2.5 s', seconds: 2.5, startMs: 0n });
    expect(first.words).toMatchObject([{ word: 'heard', start: 0, end: 0.5, probability: 0.5 }]);
    client.speak(seconds(1));
    client.commit();
    expect(await client.next('turn', 2)).toMatchObject({ turn: 2, startMs: 2500n });
    expect(await client.finish()).toBeUndefined();
    const all = await records(3);
    expect(all.map(shown)).toEqual(expect.arrayContaining([ok(2_500), ok(1_000), session]));
    expect(all.map(({ id }) => id)).toContain(first.requestId);
    expect(await unitsUsed()).toBe(4);
  });

  it('that is longer than a window reserves further ones', async () => {
    const client = new LiveClient(parley);
    client.configure();
    client.speak(seconds(24));
    client.commit();
    expect(await client.next('turn')).toMatchObject({ seconds: 24 });
    await client.finish();
    expect(await unitsUsed()).toBe(24);
  });

  it('ends after a minute, and the next one follows', async () => {
    const client = new LiveClient(parley);
    client.configure();
    client.speak(seconds(61));
    await client.finish();
    expect(client.all('turn').map((turn) => turn.seconds)).toEqual([60, 1]);
  });

  it('that is committed when the client ends its side has its text', async () => {
    const client = new LiveClient(parley);
    client.configure();
    client.speak(seconds(1));
    expect(await client.finish()).toBeUndefined();
    expect(client.all('turn')).toHaveLength(1);
  });

  it('for which no recogniser is free is a failure', async () => {
    ear.refusal = new ParleyError('overloaded');
    const client = new LiveClient(parley);
    client.configure();
    client.speak(seconds(1));
    expect(await client.next('failure')).toMatchObject({ turn: 1, code: 'overloaded' });
    client.leave();
    expect(await unitsUsed()).toBe(0);
  });

  it('shows its words as they become stable', async () => {
    const client = new LiveClient(parley);
    client.configure();
    client.speak(seconds(1));
    await expect.poll(() => ear.turns.length).toBe(1);
    for (const [at, text] of ['go', 'go for', 'go forward', 'go forward ten', 'go forward ten'].entries()) {
      ear.turns[0]?.options.onPartial(text);
      await client.next('partial', at + 1);
    }
    expect(client.all('partial').map(({ stableWords }) => stableWords)).toEqual([0, 0, 1, 1, 2]);
    await client.finish();
  });
});

describe('a session', () => {
  it('is one of the concurrent requests, and its turns are not counted', async () => {
    const limits = { concurrentRequests: 1 };
    const request = create(pb.SetAccountLimitsRequestSchema, { accountId: parley.accountId, limits });
    await parley.app.services.accounts.setAccountLimits(request, cliCall);
    const client = new LiveClient(parley);
    client.configure();
    client.speak(seconds(1));
    client.commit();
    await client.next('turn');
    expect(await new LiveClient(parley).ended).toBe('rate_limit_exceeded');
    expect(await client.finish()).toBeUndefined();
    const next = new LiveClient(parley);
    next.configure();
    expect(await next.finish()).toBeUndefined();
  });

  it('delivers its turns when the server stops', async () => {
    let goOn = () => {};
    ear.goesOn = new Promise<void>((resolve) => {
      goOn = resolve;
    });
    const client = new LiveClient(parley);
    client.configure();
    client.speak(seconds(1));
    await expect.poll(() => ear.turns[0]?.seconds).toBe(1);
    const closing = parley.app.close();
    goOn();
    expect(await client.ended).toBe('overloaded');
    expect(client.all('turn')).toHaveLength(1);
    await closing;
  });
});

describe('a wrong message', () => {
  it.each([
    [
      'a rate of no microphone',
      (client: LiveClient) => client.configure({ sampleRate: 47_999 }),
      'invalid_input',
    ],
    [
      'too short a silence',
      (client: LiveClient) => client.configure({ turnDetection: { silenceMs: 1 } }),
      'invalid_input',
    ],
    [
      'audio of more than 64 KiB',
      (client: LiveClient) => {
        client.configure();
        client.send({ case: 'audio', value: new Uint8Array(65_537) });
      },
      'payload_too_large',
    ],
  ])('ends the session: %s', async (_, send, code) => {
    const client = new LiveClient(parley);
    send(client);
    expect(await client.ended).toBe(code);
  });
});
