/** Several programs under one budget of memory. */
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, describe, expect, it } from 'vitest';
import { ParleyError } from '../../src/core/values/errors.ts';
import { OwnSignal } from '../../src/core/values/signal.ts';
import type { Program } from '../../src/supervisor/program.ts';
import { ask, TestPrograms } from '../support/programs.ts';
import { rounds, timeout } from './rounds.ts';

let programs: TestPrograms;
afterEach(() => programs.close());

const megabytes = (count: number) => count * 1_000_000;
const isLoaded = (program: Program) => !['stopped', 'waiting', 'failed'].includes(program.state().state);
/** A program with a lease, which keeps it from being ended. */
const hold = async (program: Program) => program.acquire(new OwnSignal());

describe('a budget of memory', () => {
  const open = (name: string, settings = {}) =>
    programs.open(name, {}, { memoryBytes: megabytes(150), ...settings });

  it(`has room for two of four programs, and serves all, ${rounds} times`, { timeout }, async () => {
    programs = new TestPrograms({ memoryBytesMax: megabytes(380) });
    const four = ['one', 'two', 'three', 'four'].map((name) => open(name));
    let most = 0;
    const watching = setInterval(() => {
      most = Math.max(most, four.filter(isLoaded).length);
    }, 1);
    const answers = await Promise.all(
      four.map(async (_, client) => {
        const texts: string[] = [];
        for (let round = 0; round < rounds; round++) {
          const program = four[(client + round * 3) % 4];
          if (program) texts.push(await ask(program, { stream: true, max_tokens: 2 }));
          await sleep(Math.random() * 20);
        }
        return texts;
      }),
    );
    clearInterval(watching);
    expect(answers.flat().filter((text) => text.includes('[DONE]'))).toHaveLength(4 * rounds);
    expect(most).toBe(2);
    expect(programs.logged.filter(({ level }) => level === 'warn')).toEqual([]);
  });

  it('ends the least recently used program, and never one with calls', async () => {
    programs = new TestPrograms({ memoryBytesMax: megabytes(460) });
    const [busy, old, recent, wanted] = ['busy', 'old', 'recent', 'wanted'].map((name) => open(name));
    if (!busy || !old || !recent || !wanted) throw new Error('there are four');
    const lease = await hold(busy);
    await ask(old);
    await ask(recent);
    await ask(wanted);
    expect([busy, old, recent, wanted].map((program) => program.state().state)).toEqual([
      ...['busy', 'stopped', 'ready', 'ready'],
    ]);
    lease.release(true);
  });

  it('lets a program wait until another has no calls', async () => {
    programs = new TestPrograms({ memoryBytesMax: megabytes(200) });
    const [one, other] = [open('one'), open('other')];
    const lease = await hold(one);
    const asked = ask(other);
    await expect.poll(() => other.state()).toMatchObject({ state: 'waiting', waiting: 1 });
    lease.release(true);
    expect(await asked).toContain('hi');
    expect(one.state().state).toBe('stopped');
  });

  it('refuses what has waited too long, with a time to come back', async () => {
    programs = new TestPrograms({ memoryBytesMax: megabytes(200), memoryWaitMs: 100 });
    const [one, other] = [open('one'), open('other')];
    const lease = await hold(one);
    const refused = ask(other).catch((error: unknown) => error);
    expect(await refused).toMatchObject({ code: 'overloaded', retryAfterSeconds: 5, hasNotRun: true });
    lease.release(true);
    // The other program may take longer to end than a request waits.
    await expect.poll(() => ask(other).catch(String)).toContain('hi');
  });

  it('forgets a program whose requests have left', async () => {
    programs = new TestPrograms({ memoryBytesMax: megabytes(200) });
    const [one, other] = [open('one'), open('other')];
    const lease = await hold(one);
    const leaving = new OwnSignal();
    const left = ask(other, {}, leaving).catch((error: unknown) => error);
    await expect.poll(() => other.state().state).toBe('waiting');
    leaving.abort(new ParleyError('request_cancelled'));
    expect(await left).toMatchObject({ code: 'request_cancelled' });
    expect(other.state().state).toBe('stopped');
    lease.release(true);
    expect(one.state().state).toBe('ready');
    expect(await ask(other)).toContain('hi');
  });

  it('refuses a program that needs more than there is', async () => {
    programs = new TestPrograms({ memoryBytesMax: megabytes(100) });
    const refused = ask(open('large')).catch((error: unknown) => error);
    expect(await refused).toMatchObject({ code: 'engine_unavailable', hasNotRun: true });
  });

  it('ends an idle program when the measured memory is too much', async () => {
    programs = new TestPrograms({ memoryBytesMax: megabytes(300) });
    const small = programs.open('small');
    const growing = programs.open('growing', { megabytes: 250 });
    await ask(small);
    const lease = await hold(growing);
    await expect.poll(() => small.state().state).toBe('stopped');
    expect(growing.state().state).toBe('busy');
    lease.release(true);
  });
});

it('runs one program of a group at a time', async () => {
  programs = new TestPrograms();
  const [one, other] = ['one', 'other'].map((name) => programs.open(name, {}, { group: 'card' }));
  if (!one || !other) throw new Error('there are two');
  const lease = await hold(one);
  const asked = ask(other);
  await expect.poll(() => other.state().state).toBe('waiting');
  lease.release(true);
  expect(await asked).toContain('hi');
  expect([one.state().state, other.state().state]).toEqual(['stopped', 'ready']);
});

it('ends a replaced program after its last call, and counts the memory of both', async () => {
  programs = new TestPrograms({ memoryBytesMax: megabytes(400) });
  const [old, next, third] = ['same', 'same', 'third'].map((name) =>
    programs.open(name, {}, { memoryBytes: megabytes(150) }),
  );
  if (!old || !next || !third) throw new Error('there are three');
  const lease = await hold(old);
  old.retire();
  const nextLease = await hold(next);
  expect([old.state().state, next.state().state]).toEqual(['busy', 'busy']);
  const asked = ask(third);
  await expect.poll(() => third.state().state).toBe('waiting');
  lease.release(true);
  expect(await asked).toContain('hi');
  expect(old.state().state).toBe('stopped');
  nextLease.release(true);
});
