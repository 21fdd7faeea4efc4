/** One program over time: its start, its idle end, its failures. */
import { mkdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import { ParleyError } from '../../src/core/values/errors.ts';
import { OwnSignal } from '../../src/core/values/signal.ts';
import { ask, TestPrograms } from '../support/programs.ts';
import { processesWith } from '../support/tiny-program.ts';
import { rounds, timeout } from './rounds.ts';

let programs: TestPrograms;
const open = (...args: Parameters<TestPrograms['open']>) => programs.open(...args);
const start = (options?: ConstructorParameters<typeof TestPrograms>[0]) => {
  programs = new TestPrograms(options);
};
afterEach(() => programs.close());

const errorOf = (work: Promise<unknown>): Promise<ParleyError> =>
  work.then(
    () => Promise.reject(new Error('it did not fail')),
    (error: ParleyError) => error,
  );

describe('a program', () => {
  it('starts once for many requests', async () => {
    start();
    const program = open('tiny', { loadMs: 200 });
    expect(program.state().state).toBe('stopped');
    const asked = Array.from({ length: 16 }, () => ask(program));
    await expect.poll(() => program.state()).toMatchObject({ state: 'loading', waiting: 16 });
    expect(await Promise.all(asked)).toHaveLength(16);
    expect(program.state()).toMatchObject({ state: 'ready', waiting: 0, starts: 1 });
  });

  it('listens on a port if its command has {port}, another one after each start', async () => {
    start();
    const program = open('tiny', { at: '{port}' });
    expect(await ask(program)).toContain('hi hi');
    await program.stop('the test wants it');
    expect(await ask(program)).toContain('hi hi');
    expect(program.state().starts).toBe(2);
  });

  it('gets no variable of the server but PATH', async () => {
    start();
    const secret = 'a-secret-of-the-server';
    process.env['PARLEY_TEST_SECRET'] = secret;
    const command = ['/bin/sh', '-c', 'echo "[$PARLEY_TEST_SECRET|$OWN|$0]" >&2; exit 9', '{socket}'];
    const program = open('tiny', {}, { command, env: { OWN: 'mine' } });
    const { message } = await errorOf(ask(program));
    delete process.env['PARLEY_TEST_SECRET'];
    expect(message).toContain(`status 9: [|mine|${program.socketPath}]`);
  });

  it(`answers every request that crosses its idle end, ${rounds} times`, { timeout }, async () => {
    start();
    const program = open('tiny', {}, { idleMs: 30 });
    for (let round = 0; round < rounds; round++) {
      expect(await ask(program, { max_tokens: 1 })).toContain('hi');
      await sleep(15 + Math.random() * 30);
    }
    await expect.poll(() => program.state().state).toBe('stopped');
    expect(program.state()).not.toHaveProperty('failure');
    expect(programs.logged.filter(({ level }) => level !== 'info')).toEqual([]);
  });

  it('counts its idle time from the end of the last request', async () => {
    start();
    const program = open('tiny', { everyMs: 20 }, { idleMs: 100 });
    expect(await ask(program, { stream: true, max_tokens: 30 })).toContain('[DONE]');
    expect(program.state()).toMatchObject({ state: 'ready', starts: 1 });
    await expect.poll(() => program.state().state).toBe('stopped');
  });

  it('is killed if it does not end when asked to, with its descendants', async () => {
    start();
    const program = open('tiny', { trick: 'stubborn' }, { stopMs: 200 });
    await ask(program);
    const { socketPath = '' } = program;
    expect(processesWith(socketPath)).not.toEqual([]);
    await program.stop('the test wants it');
    await expect.poll(() => processesWith(socketPath)).toEqual([]);
    expect(program.state()).toMatchObject({ state: 'stopped' });
  });
});

describe('the socket of a program', () => {
  it.each(['', 'z'.repeat(80)])(
    'has a path that the system takes, however long the names around it are',
    async (name) => {
      const temporary = join(tmpdir(), name);
      mkdirSync(temporary, { recursive: true });
      if (name) onTestFinished(() => rmSync(temporary, { recursive: true }));
      vi.stubEnv('TMPDIR', temporary);
      start({ sockets: 'x'.repeat(100) });
      vi.unstubAllEnvs();
      const program = open('y'.repeat(100), {});
      expect(await ask(program)).toContain('"choices"');
      expect(Buffer.byteLength(program.socketPath ?? '')).toBeLessThanOrEqual(107);
    },
  );
});

describe('a program that fails', () => {
  it('to start gives every waiting request the last line of its errors, and is not started again at once', async () => {
    start();
    const program = open('tiny', { trick: 'exit' });
    const failures = await Promise.all(Array.from({ length: 20 }, () => errorOf(ask(program))));
    for (const { code, message, hasNotRun, retryAfterSeconds } of failures) {
      expect([code, hasNotRun, retryAfterSeconds]).toEqual(['engine_unavailable', true, 1]);
      expect(message).toContain('(status 3: error: the weights are missing)');
    }
    expect(await errorOf(ask(program))).toMatchObject({ code: 'engine_unavailable', hasNotRun: true });
    expect(program.state()).toMatchObject({
      state: 'failed',
      starts: 1,
      failure: expect.stringContaining('weights'),
    });
    const [{ fields } = { fields: {} }] = programs.logged.filter(({ level }) => level === 'warn');
    expect(fields).toMatchObject({ engine: 'tiny', lastLine: 'error: the weights are missing', failures: 1 });
  });

  it('to start is tried again after pauses that grow', async () => {
    start();
    const program = open('tiny', { trick: 'exit' });
    const pauses: unknown[] = [];
    await expect
      .poll(async () => {
        await errorOf(ask(program));
        return program.state().starts;
      })
      .toBe(3);
    for (const { fields } of programs.logged.filter(({ level }) => level === 'warn')) {
      pauses.push(fields['pauseMs']);
    }
    const [first = 0, second = 0, third = 0] = pauses as number[];
    expect([first > 0, second > first, third > second]).toEqual([true, true, true]);
  });

  it('to become ready is killed', async () => {
    start();
    const program = open('tiny', { loadMs: 1e9 }, { startMs: 600 });
    const error = await errorOf(ask(program));
    expect(error).toMatchObject({ code: 'engine_unavailable', hasNotRun: true });
    expect(error.message).toContain('not ready within 600 ms');
    expect(processesWith(program.socketPath ?? '-')).toEqual([]);
  });

  it('because its command does not exist says so', async () => {
    start();
    const program = open('tiny', {}, { command: ['no-such-program', '{socket}'] });
    expect((await errorOf(ask(program))).message).toMatch(/status 127: .*no-such-program/);
  });

  it('after it has served is started again at once; what it said stays in the log', async () => {
    start();
    const program = open('tiny', { trick: 'crash' });
    await expect(ask(program)).rejects.toThrow();
    await expect.poll(() => program.state().failure).toBe('SIGSEGV');
    expect(program.state().state).toBe('stopped');
    await expect(ask(program)).rejects.toThrow();
    await expect.poll(() => program.state().state).toBe('failed');
    const { message } = await errorOf(ask(program));
    expect(message).toContain('SIGSEGV');
    expect(message).not.toContain('prompt');
    expect(JSON.stringify(programs.logged)).toContain('fatal: a secret of the prompt');
    expect(program.state().starts).toBe(2);
  });

  it('by taking too much memory is killed', async () => {
    start();
    const program = open('tiny', { megabytes: 300 }, { memoryBytesMax: 150_000_000 });
    const endless = ask(program, { stream: true, max_tokens: 1_000 });
    endless.catch(() => undefined);
    await expect.poll(() => program.state().failure ?? '').toMatch(/MiB of memory, more than the 143/);
    await expect(endless).rejects.toThrow();
  });

  it('to listen any longer is killed when that is reported', async () => {
    start();
    const program = open('tiny', { trick: 'stubborn' }, { stopMs: 100 });
    const lease = await program.acquire(new OwnSignal());
    await lease.refused();
    lease.release(false);
    expect(program.state().failure).toBe('it stopped listening');
    expect(await ask(program)).toContain('hi');
  });
});

describe('a waiting request', () => {
  it('that leaves ends at once, and others are served', async () => {
    start();
    const program = open('tiny', { loadMs: 300 });
    const leaving = new OwnSignal();
    const [left, stays] = [errorOf(ask(program, {}, leaving)), ask(program)];
    await expect.poll(() => program.state().waiting).toBe(2);
    leaving.abort(new ParleyError('request_cancelled'));
    expect(await left).toMatchObject({ code: 'request_cancelled' });
    expect(program.state().waiting).toBe(1);
    expect(await stays).toContain('hi');
  });

  it('that leaves as the only one lets the idle time begin when the program is ready', async () => {
    start();
    const program = open('tiny', { loadMs: 200 }, { idleMs: 50 });
    const leaving = new OwnSignal();
    const left = errorOf(ask(program, {}, leaving));
    await expect.poll(() => program.state().state).toBe('loading');
    leaving.abort(new ParleyError('request_cancelled'));
    await left;
    await expect.poll(() => program.state().state).toBe('stopped');
    expect(program.state()).not.toHaveProperty('failure');
  });
});
