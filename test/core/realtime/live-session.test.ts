/** Sessions over time, by a clock that the test moves. */
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { Call } from '../../../src/core/access/call.ts';
import { LiveSession } from '../../../src/core/realtime/live-session.ts';
import { Reports } from '../../../src/core/realtime/reports.ts';
import { ParleyError, toParleyError } from '../../../src/core/values/errors.ts';
import { OwnSignal } from '../../../src/core/values/signal.ts';
import { Ear } from '../../support/live-ear.ts';

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'setInterval', 'clearInterval'] });
});
afterEach(() => {
  vi.useRealTimers();
});

const minute = 60_000;

/** A request whose record nobody keeps. */
function unmeteredCall(): Call {
  const done = async () => undefined;
  const metering = {
    used: {},
    willStream: () => undefined,
    noteModel: () => undefined,
    whenStarted: done,
    beginOutput: done,
    reserve: done,
    extend: done,
    reserveInstead: done,
    settle: done,
    void: done,
  };
  return { id: 'req_1', caller: { entitlement: { state: 'active' } }, metering } as unknown as Call;
}

function openSession() {
  const ear = new Ear();
  let refusal: ParleyError | undefined;
  const checkAgain = vi.fn(async () => {
    if (refusal) throw refusal;
  });
  const reports = new Reports();
  const session = new LiveSession({
    reports,
    turns: { open: async () => unmeteredCall(), noteRecognised: () => undefined, checkAgain },
    signal: new OwnSignal(),
    model: 'm',
    speaker: ear.openSpeaker(),
    detector: { isSpeech: () => false, close: () => undefined },
    openDecoder: () => (bytes) => new Int16Array(bytes.length),
    fairUse: {
      planUnitsPerMonth: 1_000,
      trialUnitsPerMonth: 0,
      speechUnitsPerCharacter: 1,
      transcriptionUnitsPerSecond: 1,
    },
  });
  session.configure({ encoding: 'pcm16', sampleRate: 16_000, language: undefined, detection: undefined });
  const kinds: string[] = [];
  const completed: number[] = [];
  const ended = (async () => {
    try {
      for await (const batch of reports.read()) {
        kinds.push(...batch.map(({ kind }) => kind));
        completed.push(...batch.flatMap((report) => (report.kind === 'completed' ? report.turn : [])));
      }
      return undefined;
    } catch (error) {
      return toParleyError(error).code;
    }
  })();
  const refuse = (error: ParleyError) => {
    refusal = error;
  };
  return { session, ear, kinds, completed, ended, checkAgain, refuse };
}

const second = new Uint8Array(16_000);

describe('a session', () => {
  it('ends after five minutes without a message', async () => {
    const { session, ended, checkAgain } = openSession();
    await vi.advanceTimersByTimeAsync(4 * minute);
    await session.commit();
    await vi.advanceTimersByTimeAsync(4 * minute);
    expect(checkAgain).toHaveBeenCalledTimes(48);
    await vi.advanceTimersByTimeAsync(minute);
    expect(await ended).toBe('overloaded');
    checkAgain.mockClear();
    await vi.advanceTimersByTimeAsync(10 * minute);
    expect(checkAgain).not.toHaveBeenCalled();
  });

  it('ends after an hour, with the turn that is open', async () => {
    const { session, kinds, ended } = openSession();
    for (let at = 0; at < 59; at++) {
      await session.clear();
      await vi.advanceTimersByTimeAsync(minute);
    }
    await session.audio(second);
    await vi.advanceTimersByTimeAsync(minute);
    expect(await ended).toBe('overloaded');
    expect(kinds.at(-1)).toBe('completed');
  });

  it('ends in silence once its key is revoked', async () => {
    const { ended, refuse } = openSession();
    refuse(new ParleyError('invalid_api_key'));
    await vi.advanceTimersByTimeAsync(10_000);
    expect(await ended).toBe('invalid_api_key');
  });

  it('goes on while the database is away', async () => {
    const { session, ended, refuse } = openSession();
    refuse(new ParleyError('internal_error'));
    await vi.advanceTimersByTimeAsync(minute);
    session.finish();
    expect(await ended).toBeUndefined();
  });

  it('that may not go on ends with its turn, though the reserved audio never comes', async () => {
    const { session, kinds, ended, refuse } = openSession();
    await session.audio(second);
    refuse(new ParleyError('account_suspended'));
    await vi.advanceTimersByTimeAsync(10_000);
    expect(kinds).toEqual([]);
    await vi.advanceTimersByTimeAsync(10_000);
    expect(await ended).toBe('account_suspended');
    expect(kinds).toEqual(['committed', 'completed']);
  });
});

describe('a turn whose text is late', () => {
  it('ends before the turns after it, also those whose text is known', async () => {
    const { session, ear, completed, ended } = openSession();
    const late = Promise.withResolvers<void>();
    for (const goesOn of [late.promise, Promise.resolve(), Promise.resolve()]) {
      ear.goesOn = goesOn;
      await session.audio(second);
      await session.commit();
    }
    session.finish();
    await vi.advanceTimersByTimeAsync(1);
    expect(completed).toEqual([]);
    late.resolve();
    expect(await ended).toBeUndefined();
    expect(completed).toEqual([1, 2, 3]);
  });
});

describe('a turn that fails while its client goes on to speak', () => {
  it('fails once: the audio until the commit belongs to it', async () => {
    const { session, ear, kinds, ended } = openSession();
    await session.audio(second);
    ear.turns[0]?.options.onFailure(new ParleyError('upstream_error'));
    await session.audio(second);
    await session.audio(second);
    session.commit();
    await session.audio(second);
    session.commit();
    session.finish();
    expect(await ended).toBeUndefined();
    expect(kinds).toEqual(['failed', 'committed', 'completed']);
    expect(ear.turns.length).toBe(2);
  });
});
