import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import type { FlitePool, FlitePoolOptions } from '../../../src/engines/builtin/flite/pool.ts';
import { threadShare } from '../../support/thread-cpu.ts';
import { collect, energy, newPool, prose, speak, untilTheEnd, voiceNamed } from './flite/listening.ts';

describe('long texts', () => {
  /** A pool of real threads, and how many pieces it was asked for. */
  function countedPool(options: FlitePoolOptions) {
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
  it('share a thread fairly: a short text does not wait for a long one', async () => {
    const pool = newPool({ threads: 1 });
    const ended: string[] = [];
    const long = collect(speak(pool, prose(1000))).then(() => ended.push('long'));
    const short = collect(speak(pool, 'A short one.')).then(() => ended.push('short'));
    await Promise.all([long, short]);
    expect(ended).toEqual(['short', 'long']);
  });

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

  it('are refused when too many are open', async () => {
    const pool = newPool({ threads: 1, requestsOpenMax: 1 });
    const slow = speak(pool, prose(500));
    await slow.next();
    await expect(speak(pool, 'One too many.').next()).rejects.toMatchObject({ code: 'overloaded' });
    await slow.return();
    expect((await speak(pool, 'Now there is room.').next()).done).toBe(false);
  });

  it('end at once on an abort, and do not start after one', async () => {
    const pool = newPool({ threads: 1 });
    const abort = new AbortController();
    const audio = speak(pool, prose(4000), abort.signal, 'rms');
    await audio.next();
    abort.abort();
    await expect(audio.next()).rejects.toMatchObject({ code: 'request_cancelled' });
    await expect(speak(pool, 'Hello.', abort.signal).next()).rejects.toMatchObject({
      code: 'request_cancelled',
    });
    expect((await speak(pool, 'The next one is heard.').next()).done).toBe(false);
  });
});

describe('a thread', () => {
  const silence = new Int16Array(0);
  /** The real worker, with a listener that ends or blocks the thread on a word. */
  const worker = new URL('../../../src/engines/builtin/flite/flite-worker.ts', import.meta.url).href;
  const entry = new URL(
    `data:text/javascript,${encodeURIComponent(`
    import { parentPort } from 'node:worker_threads';
    parentPort.on('message', ({ task: { text } }) => {
      if (text.includes('crash')) process.exit(3);
      if (text.includes('hang')) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);
    });
    await import('${worker}');
  `)}`,
  );

  it('that crashes fails only its own request, and is replaced', async () => {
    const pool = newPool({ threads: 1, entry });
    const crashing = collect(speak(pool, 'This will crash it.'));
    const other = collect(speak(pool, 'This one is well.'));
    await expect(crashing).rejects.toMatchObject({ code: 'internal_error', cause: expect.any(Error) });
    expect(energy(await other)).toBeGreaterThan(500);
  });

  it('that takes too long is ended, and the request fails', async () => {
    const pool = newPool({ threads: 1, entry, pieceTimeoutMs: 1500 });
    await expect(collect(speak(pool, 'This will hang.'))).rejects.toMatchObject({ code: 'internal_error' });
    // A thread that starts anew may take longer than that on a busy machine.
    const speakAgain = async () =>
      energy(await collect(speak(pool, 'This one is well.')).catch(() => silence));
    await expect.poll(speakAgain).toBeGreaterThan(500);
  });

  it('does not keep the process alive without work', () => {
    const folder = mkdtempSync(join(tmpdir(), 'parley-exit-'));
    try {
      const script = join(folder, 'speak.mjs');
      const pool = new URL('../../../src/engines/builtin/flite/pool.ts', import.meta.url).href;
      writeFileSync(
        script,
        `import { createFlitePool } from '${pool}';
        const group = createFlitePool({ threads: 1 }).enter();
        const samples = await group.run({ voice: 'kal', text: 'Hello.' });
        group.leave();
        console.log(samples.length > 1000);`,
      );
      const run = spawnSync(process.execPath, [script], { timeout: 170_000, encoding: 'utf8' });
      expect(run).toMatchObject({ status: 0, signal: null, stdout: 'true\n', stderr: '' });
    } finally {
      rmSync(folder, { recursive: true });
    }
  });
});
