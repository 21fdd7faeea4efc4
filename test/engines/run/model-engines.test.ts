/** Which of several engines gets a request. */
import { describe, expect, it } from 'vitest';
import type { Engine } from '../../../src/core/entities/engine.ts';
import { OwnSignal } from '../../../src/core/values/signal.ts';
import { EngineCounts } from '../../../src/engines/run/engine-counts.ts';
import { type Balance, type Candidates, ModelEngines } from '../../../src/engines/run/model-engines.ts';
import { runAnswer, runStream } from '../../../src/engines/run/run.ts';
import { TestClock } from '../../support/parley.ts';

interface Named extends Engine {
  readonly name: string;
  isUp: boolean;
}

function candidate(name: string) {
  const engine: Named = {
    name,
    isUp: true,
    availability: () =>
      engine.isUp ? { available: true } : { available: false, reason: `${name} is down.` },
  };
  const counts = new EngineCounts({ engine: name, clock: new TestClock(), onEnd: () => undefined });
  return { engine, model: 'm', counts };
}

function three(balance: Balance) {
  const [a, b, c] = [candidate('a'), candidate('b'), candidate('c')];
  const all: Candidates<Named> = [a, b, c];
  const engines = new ModelEngines(all, balance);
  const firstFor = (account: string) => engines.orderFor(account)[0].engine.name;
  /** Begins a request, which runs until its end is called. */
  const begin = (account: string) => {
    const end = Promise.withResolvers<string>();
    let asked = '';
    const answer = runAnswer(engines.orderFor(account), new OwnSignal(), ({ name }) => {
      asked = name;
      return end.promise;
    });
    const finish = async () => {
      end.resolve('');
      await answer;
    };
    return { asked, finish };
  };
  return { all, engines, firstFor, begin, running: () => all.map((one) => one.counts.running) };
}

describe('in order', () => {
  it('begins with the first that is available, however busy it is', () => {
    const { all, begin, running } = three('in-order');
    for (let at = 0; at < 9; at++) expect(begin(`acc_${at}`).asked).toBe('a');
    expect(running()).toEqual([9, 0, 0]);
    all[0].engine.isUp = false;
    expect(begin('acc').asked).toBe('b');
  });
});

describe('sticky', () => {
  const accounts = Array.from({ length: 300 }, (_, at) => `acc_${at}`);

  it('gives an account the same engine, and all engines accounts', () => {
    const { firstFor } = three('sticky');
    const first = accounts.map(firstFor);
    expect(accounts.map(firstFor)).toEqual(first);
    for (const name of ['a', 'b', 'c'])
      expect(first.filter((one) => one === name).length).toBeGreaterThan(60);
  });

  it('moves only the accounts of an engine that is down', () => {
    const { firstFor, all } = three('sticky');
    const first = accounts.map(firstFor);
    const [, b] = all;
    if (b) b.engine.isUp = false;
    const then = accounts.map(firstFor);
    expect(then).not.toContain('b');
    expect(then.filter((name, at) => first[at] !== 'b' && name !== first[at])).toEqual([]);
  });

  it('lets no engine work on much more than its share, even for one account', async () => {
    const { begin, running, firstFor } = three('sticky');
    const own = firstFor('acc');
    const requests = Array.from({ length: 60 }, () => begin('acc'));
    expect(Math.min(...running())).toBeGreaterThan(8);
    expect(Math.max(...running())).toBeLessThan(28);
    await Promise.all(requests.map(({ finish }) => finish()));
    expect(running()).toEqual([0, 0, 0]);
    expect(begin('acc').asked).toBe(own);
  });
});

describe('a request counts', () => {
  it('until its client leaves a stream, and no longer', async () => {
    const { engines, running } = three('in-order');
    const endless = async function* ({ name }: Named) {
      for (;;) yield name;
    };
    const stream = runStream(engines.orderFor('acc'), new OwnSignal(), endless);
    expect(running()).toEqual([0, 0, 0]);
    await stream.next();
    expect(running()).toEqual([1, 0, 0]);
    await stream.return(undefined);
    expect(running()).toEqual([0, 0, 0]);
    expect(await stream.next()).toEqual({ done: true, value: undefined });
  });

  it('on no engine that has failed', async () => {
    const { engines, running } = three('in-order');
    const failing = runAnswer(engines.orderFor('acc'), new OwnSignal(), async () => {
      throw new Error('broken');
    });
    await expect(failing).rejects.toThrow('broken');
    expect(running()).toEqual([0, 0, 0]);
  });
});
