/** Sessions of requests: what ends them, by a clock that the test moves. */
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { Call } from '../../../src/core/access/call.ts';
import { RequestSession } from '../../../src/core/realtime/request-session.ts';
import { ParleyError, toParleyError } from '../../../src/core/values/errors.ts';
import { OwnSignal } from '../../../src/core/values/signal.ts';

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'setInterval', 'clearInterval'] });
});
afterEach(() => {
  vi.useRealTimers();
});

const minute = 60_000;

/** Requests that the test sends one by one. */
class Requests {
  #next = Promise.withResolvers<string | undefined>();

  send(request: string | undefined): void {
    const { resolve } = this.#next;
    this.#next = Promise.withResolvers();
    resolve(request);
  }

  async *all(): AsyncGenerator<string> {
    for (let request = await this.#next.promise; request !== undefined; request = await this.#next.promise) {
      yield request;
    }
  }
}

function open() {
  const signal = new OwnSignal();
  const ends: string[] = [];
  let refusal: ParleyError | undefined;
  const check = async () => {
    if (refusal) throw refusal;
  };
  const metering = () => ({
    willStream: () => undefined,
    whenStarted: async () => undefined,
    beginOutput: async () => undefined,
    hasOutput: false,
    hasEnded: false,
    settle: async () => ends.push('ok'),
    void: async (error: ParleyError) => ends.push(error.code),
  });
  const openTurn = async () => {
    await check();
    return { metering: metering(), signal } as unknown as Call;
  };
  const session = new RequestSession({
    turns: { open: openTurn, checkAgain: check },
    signal,
  } as unknown as Call);
  const requests = new Requests();
  const held = Promise.withResolvers<void>();
  async function* answer(request: string) {
    yield `${request} begins`;
    if (request === 'slow') await held.promise;
    if (request === 'wrong') throw new ParleyError('invalid_input');
    yield `${request} ends`;
  }
  const parts: string[] = [];
  const ended = (async () => {
    try {
      for await (const part of session.answers(requests.all(), answer)) parts.push(part);
      return undefined;
    } catch (error) {
      return toParleyError(error).code;
    } finally {
      session.leave();
    }
  })();
  const refuse = (error: ParleyError) => {
    refusal = error;
  };
  return { session, requests, signal, parts, ends, ended, refuse, goOn: held.resolve };
}

describe('a session of requests', () => {
  it('answers them in order, and ends with its client', async () => {
    const { requests, parts, ends, ended } = open();
    requests.send('one');
    await vi.waitFor(() => expect(ends).toEqual(['ok']));
    requests.send('two');
    await vi.waitFor(() => expect(ends).toEqual(['ok', 'ok']));
    requests.send(undefined);
    expect(await ended).toBeUndefined();
    expect(parts).toEqual(['one begins', 'one ends', 'two begins', 'two ends']);
  });

  it('ends with the error of a request', async () => {
    const { requests, parts, ends, ended } = open();
    requests.send('wrong');
    expect(await ended).toBe('invalid_input');
    expect([parts, ends]).toEqual([['wrong begins'], ['invalid_input']]);
  });

  it('ends after five minutes without a request, and after an hour', async () => {
    const idle = open();
    await vi.advanceTimersByTimeAsync(5 * minute - 1_000);
    idle.requests.send('one');
    await vi.waitFor(() => expect(idle.ends).toEqual(['ok']));
    await vi.advanceTimersByTimeAsync(5 * minute - 1_000);
    expect(vi.getTimerCount()).toBeGreaterThan(0);
    await vi.advanceTimersByTimeAsync(2_000);
    expect(await idle.ended).toBe('overloaded');
    const old = open();
    for (let at = 0; at < 60; at += 4) {
      await vi.advanceTimersByTimeAsync(4 * minute);
      old.requests.send('one');
    }
    await vi.advanceTimersByTimeAsync(1_000);
    expect(await old.ended).toBe('overloaded');
  });

  it('answers the current request before it ends because its key may not go on', async () => {
    const { requests, parts, ended, refuse, goOn } = open();
    requests.send('slow');
    await vi.waitFor(() => expect(parts).toEqual(['slow begins']));
    refuse(new ParleyError('invalid_api_key'));
    await vi.advanceTimersByTimeAsync(11_000);
    goOn();
    expect(await ended).toBe('invalid_api_key');
    expect(parts).toEqual(['slow begins', 'slow ends']);
  });

  it('opens no request of a key that may not go on, before the next check', async () => {
    const { requests, parts, ended, refuse } = open();
    refuse(new ParleyError('subscription_required'));
    requests.send('one');
    expect(await ended).toBe('subscription_required');
    expect(parts).toEqual([]);
  });

  it('ends when its client leaves while it waits', async () => {
    const { signal, ended } = open();
    signal.abort(new ParleyError('request_cancelled'));
    expect(await ended).toBe('request_cancelled');
  });
});
