/** Live sessions of the console's pages: the cookie counts only with the server's own origin, and until the sign-out. */
import { once } from 'node:events';
import { afterAll, afterEach, describe, expect, it, vi } from 'vitest';
import { WebSocket } from 'ws';
import { Sessions, sessionIdleMs } from '../../../src/core/access/sessions.ts';
import { fakeTranscription, withFakes } from '../../support/fake-engines.ts';
import { Ear } from '../../support/live-ear.ts';
import { startParley, TestClock } from '../../support/parley.ts';

const clock = new TestClock();
const ear = new Ear();
const transcription = fakeTranscription({ openSpeaker: () => ear.openSpeaker() });
const parley = await startParley({ clock, engines: withFakes({ transcription }) });
const origin = new URL(parley.baseUrl).origin;
afterAll(() => parley.close());
afterEach(() => {
  vi.useRealTimers();
  vi.restoreAllMocks();
});

async function signIn(): Promise<string> {
  const headers = { origin, authorization: `Bearer ${parley.apiKey}` };
  const response = await fetch(`${origin}/console/session`, { method: 'POST', headers });
  return response.headers.get('set-cookie')?.split(';')[0] ?? '';
}

const signOut = (cookie: string) =>
  fetch(`${origin}/console/session/end`, { method: 'POST', headers: { origin, cookie } });

function open(headers: Record<string, string>, protocols: string[] = []): WebSocket {
  const url = `${parley.baseUrl.replace('http', 'ws')}/realtime?intent=transcription`;
  const socket = new WebSocket(url, protocols, { headers });
  socket.on('error', () => undefined);
  return socket;
}

/** 101, or the status of the refusal. */
async function statusOf(headers: Record<string, string>, protocols: string[] = []): Promise<number> {
  const socket = open(headers, protocols);
  const refused = once(socket, 'unexpected-response').then(([, { statusCode }]) => statusCode as number);
  const status = await Promise.race([refused, once(socket, 'open').then(() => 101)]);
  socket.terminate();
  return status;
}

describe('the cookie of the console', () => {
  it('opens a session for a page of this server, as its key does', async () => {
    const socket = open({ origin, cookie: await signIn() });
    const [first] = await once(socket, 'message');
    expect(JSON.parse(String(first))).toMatchObject({ type: 'session.created' });
    socket.close();
    const newest = async () => {
      const { items } = await parley.app.store.usage.list({}, { size: 1, after: undefined });
      return items.map(({ wire, operation, accountId }) => [wire, operation, accountId]);
    };
    await expect.poll(newest).toEqual([['websocket', 'transcription', parley.accountId]]);
  });

  it.each([
    ['another site', { origin: 'https://other.example' }],
    ['another port of this host', { origin: 'http://127.0.0.1:1' }],
    ['another site whose browser calls it the same', { origin: 'null', 'sec-fetch-site': 'same-origin' }],
    ['a program that names no page', {}],
  ])('is worth nothing to %s', async (_, headers) => {
    const cookie = await signIn();
    expect(await statusOf({ ...(headers as Record<string, string>), cookie })).toBe(401);
  });

  it('does not replace a key, neither of a header nor of a subprotocol', async () => {
    const cookie = await signIn();
    expect(await statusOf({ origin, cookie, authorization: 'Bearer pk_wrong' })).toBe(401);
    expect(await statusOf({ origin, cookie }, ['realtime', 'openai-insecure-api-key.pk_wrong'])).toBe(401);
  });

  it('ends with its session, and with its time', async () => {
    const cookie = await signIn();
    await signOut(cookie);
    expect(await statusOf({ origin, cookie })).toBe(401);
    const late = await signIn();
    clock.nowMs += sessionIdleMs;
    expect(await statusOf({ origin, cookie: late })).toBe(401);
  });
});

describe('an open session', () => {
  it('closes after somebody has signed out, and stays open for others', async () => {
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'], shouldAdvanceTime: false });
    const openOne = async () => {
      const cookie = await signIn();
      const socket = open({ origin, cookie });
      await once(socket, 'open');
      return { socket, token: cookie.slice('parley_session='.length) };
    };
    const [leaving, staying] = [await openOne(), await openOne()];
    // In use, it outlives the time after which an unused session ends.
    const checks = vi.spyOn(Sessions.prototype, 'open');
    for (const part of [0.6, 0.6]) {
      clock.nowMs += part * sessionIdleMs;
      await vi.advanceTimersByTimeAsync(10_000);
      await Promise.all(checks.mock.results.map(({ value }) => value));
    }
    // Sessions of other tests may be checked, too.
    let { token } = leaving;
    let renewals = 0;
    for (const [at, [checked]] of checks.mock.calls.entries()) {
      const renewed = checked === token ? (await checks.mock.results[at]?.value)?.renewed : undefined;
      if (renewed === undefined) continue;
      token = renewed.token;
      renewals++;
    }
    expect(renewals).toBe(2);
    await signOut(`parley_session=${token}`);
    const closed = once(leaving.socket, 'close');
    await vi.advanceTimersByTimeAsync(10_000);
    expect((await closed)[0]).toBe(1008);
    expect(staying.socket.readyState).toBe(WebSocket.OPEN);
    staying.socket.close();
  });
});
