import { describe, expect, it, vi } from 'vitest';
import { OwnSignal, TimeLimit } from '../../../src/core/values/signal.ts';

/** Waits for the abort of a signal, and returns its reason. */
const aborted = (signal: OwnSignal) =>
  new Promise((resolve) => signal.addEventListener('abort', () => resolve(signal.reason)));

describe('a signal', () => {
  it('calls each listener once, and no removed one, even while it aborts', () => {
    const signal = new OwnSignal();
    const [kept, removed] = [vi.fn(), vi.fn()];
    signal.addEventListener('abort', () => signal.removeEventListener('abort', removed));
    signal.addEventListener('abort', removed);
    signal.addEventListener('abort', kept);
    signal.abort('first');
    signal.abort('second');
    signal.addEventListener('abort', removed);
    expect([kept.mock.calls.length, removed.mock.calls.length]).toEqual([1, 0]);
    expect([signal.aborted, signal.reason]).toEqual([true, 'first']);
    expect(() => signal.throwIfAborted()).toThrow('first');
  });
});

describe('a time limit', () => {
  it('ends each piece of work after its own time, in order, and no finished one', async () => {
    const limit = new TimeLimit(60, () => 'time is up');
    const startedAtMs = performance.now();
    const [first, ended] = [limit.begin(), limit.begin()];
    ended.end();
    const last = await new Promise<OwnSignal>((resolve) => setTimeout(() => resolve(limit.begin()), 30));
    const ends: string[] = [];
    first.addEventListener('abort', () => ends.push('first'));
    last.addEventListener('abort', () => ends.push('last'));
    expect(await aborted(last)).toBe('time is up');
    expect(ends).toEqual(['first', 'last']);
    expect(performance.now() - startedAtMs).toBeGreaterThanOrEqual(89);
    expect(ended.aborted).toBe(false);
  });

  it('starts again after a time without work', async () => {
    const limit = new TimeLimit(10, () => 'time is up');
    expect(await aborted(limit.begin())).toBe('time is up');
    expect(await aborted(limit.begin())).toBe('time is up');
  });

  it('passes on the abort of an outer signal, until the work has ended', () => {
    const limit = new TimeLimit(60_000, () => 'time is up');
    const outer = new OwnSignal();
    const [inner, ended] = [limit.begin(outer), limit.begin(outer)];
    ended.end();
    outer.abort('left');
    expect([inner.reason, ended.aborted, limit.begin(outer).reason]).toEqual(['left', false, 'left']);
  });
});
