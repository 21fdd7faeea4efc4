/** What a worker remembers of keys, and for how long. */
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { KeptHolders, keptMsMax } from '../src/cluster/kept-holders.ts';
import type { AccountId, KeyId } from '../src/core/ids.ts';
import type { KeyHolder } from '../src/core/ports/store.ts';
import { storedKey } from './support/stored-key.ts';

const holder = (revokedAtMs?: number): KeyHolder => ({
  key: storedKey('key_1' as KeyId, 'acc_1' as AccountId, { revokedAtMs }),
  account: undefined,
});

describe('who holds a key, in a worker', () => {
  let holders: KeptHolders;
  let answers: (KeyHolder | undefined)[];
  const ask = vi.fn(async () => answers.shift());
  const find = () => holders.find('hash', ask);
  beforeEach(() => {
    vi.useFakeTimers();
    ask.mockClear();
    holders = new KeptHolders();
    answers = [holder(), holder(50)];
  });
  afterEach(() => {
    vi.useRealTimers();
  });

  it('is asked for once', async () => {
    expect(await find()).toBe(await find());
    expect(ask).toHaveBeenCalledTimes(1);
  });

  it('is asked for again once it is to be forgotten', async () => {
    await find();
    holders.forgetAll();
    expect((await find())?.key.revokedAtMs).toBe(50);
  });

  it('is not kept where it is to be forgotten while the answer is on its way', async () => {
    const early = find();
    holders.forgetAll();
    await early;
    expect((await find())?.key.revokedAtMs).toBe(50);
  });

  it('is asked for again after a while, counted from when it was asked for', async () => {
    const slow = Promise.withResolvers<KeyHolder>();
    const asked = holders.find('hash', () => slow.promise);
    vi.advanceTimersByTime(keptMsMax);
    slow.resolve(holder());
    await asked;
    answers = [holder(50)];
    expect((await find())?.key.revokedAtMs).toBe(50);
  });

  it('is not kept for a key that there is not', async () => {
    answers = [undefined, holder()];
    expect(await find()).toBeUndefined();
    expect(await find()).toBeDefined();
  });
});
