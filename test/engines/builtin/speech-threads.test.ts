import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import type { FlitePool } from '../../../src/engines/builtin/flite/pool.ts';
import { threadShare } from '../../support/thread-cpu.ts';
import { collect, newPool, prose, speak, untilTheEnd, voiceNamed } from './flite/listening.ts';

describe('long texts', () => {
  /** A pool of real threads that counts the requested pieces. */
  function countedPool(options: { readonly threads: number }) {
    const pool = newPool(options);
    const counted = { asked: 0 };
    const counting: FlitePool = {
      waiting: 0,
      close: () => pool.close(),
      enter: () => {
        const group = pool.enter();
        return {
          leave: () => group.leave(),
          run: (piece) => {
            counted.asked++;
            return group.run(piece);
          },
        };
      },
      openSession: () => pool.openSession(),
    };
    return { counting, counted };
  }

  it('start to play long before the whole text is spoken', async () => {
    const { counting, counted } = countedPool({ threads: 2 });
    const text = prose(1500);
    const audio = speak(counting, text);
    const first = (await audio.next()).value;
    expect(counted.asked).toBeLessThanOrEqual(3);
    const length = (first?.length ?? 0) + (await collect(audio)).length;
    expect(length / voiceNamed('kal').sampleRate).toBeGreaterThan(40);
    expect(counted.asked).toBeGreaterThan(12);
  });

  it.each([
    ['a word of 4,000 letters', 'a'.repeat(4000)],
    ['4,000 digits', '7'.repeat(4000)],
  ])('may be %s: audio comes after three pieces at most', async (_, text) => {
    const { counting, counted } = countedPool({ threads: 2 });
    const audio = speak(counting, text, untilTheEnd, 'slt');
    expect((await audio.next()).value?.length).toBeGreaterThan(8000);
    expect(counted.asked).toBeLessThanOrEqual(3);
    await audio.return();
  });

  it('leave the event loop free', async () => {
    const pool = newPool({ threads: 1 });
    expect(await threadShare(() => collect(speak(pool, prose(500), untilTheEnd, 'rms')))).toBeLessThan(0.25);
  });

  it('are spoken only a few pieces ahead of a slow reader', async () => {
    const { counting, counted } = countedPool({ threads: 2 });
    const audio = speak(counting, prose(4000));
    await audio.next();
    await sleep(300);
    expect(counted.asked).toBe(3);
    await audio.return();
  });
});

describe('many requests', () => {
  it('are refused with a retry time when too many wait, and an abort frees a place at once', async () => {
    const pool = newPool({ threads: 1, requestsWaitingMax: 1 });
    const first = speak(pool, prose(2000), untilTheEnd, 'rms');
    await first.next();
    await first.next();
    const abort = new AbortController();
    const waiting = speak(pool, 'Waiting.', abort.signal).next();
    await expect(speak(pool, 'One too many.').next()).rejects.toMatchObject({
      code: 'overloaded',
      retryAfterSeconds: 2,
    });
    abort.abort();
    await expect(waiting).rejects.toMatchObject({ code: 'request_cancelled' });
    const next = speak(pool, 'There is a place again.').next();
    expect((await next).done).toBe(false);
    await first.return();
  });

  it('end at once on an abort, and do not start after one', async () => {
    const pool = newPool({ threads: 1 });
    const abort = new AbortController();
    const audio = speak(pool, prose(4000), abort.signal, 'rms');
    await audio.next();
    abort.abort();
    await expect(collect(audio)).rejects.toMatchObject({ code: 'request_cancelled' });
    await expect(speak(pool, 'Hello.', abort.signal).next()).rejects.toMatchObject({
      code: 'request_cancelled',
    });
    expect((await speak(pool, 'The next one is heard.').next()).done).toBe(false);
  });
});
