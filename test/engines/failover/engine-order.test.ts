/** Which of several engines gets a request. */
import { describe, expect, it } from 'vitest';
import type { Engine } from '../../../src/core/entities/engine.ts';
import { OwnSignal } from '../../../src/core/values/signal.ts';
import { firstAnswer, firstStream, runningOn } from '../../../src/engines/failover/attempts.ts';
import {
  type EngineChoice,
  type EngineList,
  EngineOrder,
} from '../../../src/engines/failover/engine-order.ts';

interface Named extends Engine {
  readonly name: string;
  isUp: boolean;
}

function engine(name: string): Named {
  const named: Named = {
    name,
    isUp: true,
    availability: () => (named.isUp ? { available: true } : { available: false, reason: `${name} is down.` }),
  };
  return named;
}

function three(choice: EngineChoice) {
  const engines: EngineList<Named> = [engine('a'), engine('b'), engine('c')];
  const order = new EngineOrder(engines, choice);
  /** Begins a request, which runs until its end is called. */
  const begin = async (account?: string) => {
    const end = Promise.withResolvers<string>();
    let asked = '';
    const answer = firstAnswer(order.take(account), new OwnSignal(), ({ name }) => {
      asked = name;
      return end.promise;
    });
    return {
      asked,
      end: async () => {
        end.resolve('');
        await answer;
      },
    };
  };
  return { engines, order, begin };
}

describe('least-busy', () => {
  it('gives a request to the engine that works on the fewest', async () => {
    const { begin } = three({ balance: 'least-busy' });
    const running = [await begin(), await begin(), await begin()];
    expect(running.map(({ asked }) => asked).sort()).toEqual(['a', 'b', 'c']);
    const freed = running[1];
    await freed?.end();
    expect((await begin()).asked).toBe(freed?.asked);
  });

  it('gives each engine as many as its weight says', async () => {
    const { begin, engines } = three({ balance: 'least-busy', weights: [4, 2, 1] });
    for (let at = 0; at < 70; at++) await begin();
    expect(engines.map(runningOn)).toEqual([40, 20, 10]);
  });

  it('alternates among engines that are equally busy', async () => {
    const { begin } = three({ balance: 'least-busy' });
    const asked: string[] = [];
    for (let at = 0; at < 6; at++) {
      const request = await begin();
      asked.push(request.asked);
      await request.end();
    }
    expect(asked.join('')).toBe('abcabc');
  });

  it('counts a stream until its client leaves, and no longer', async () => {
    const { order, engines } = three({ balance: 'least-busy' });
    const endless = async function* ({ name }: Named) {
      for (;;) yield name;
    };
    const stream = firstStream(order.take(), new OwnSignal(), endless);
    expect(engines.map(runningOn)).toEqual([0, 0, 0]);
    await stream.next();
    expect(engines.map(runningOn)).toEqual([1, 0, 0]);
    await stream.return();
    expect(engines.map(runningOn)).toEqual([0, 0, 0]);
  });

  it('counts a request on the engine that serves it, not on those that failed before', async () => {
    const { order, engines } = three({ balance: 'least-busy' });
    const failing = firstAnswer(order.take(), new OwnSignal(), async () => {
      throw new Error('broken');
    });
    await expect(failing).rejects.toThrow('broken');
    expect(engines.map(runningOn)).toEqual([0, 0, 0]);
  });
});

describe('affinity', () => {
  const accounts = Array.from({ length: 300 }, (_, at) => `acc_${at}`);

  it('gives an account the same engine, and all engines accounts', () => {
    const { order } = three({ balance: 'least-busy', isSticky: true });
    const first = accounts.map((account) => order.take(account)[0].name);
    expect(accounts.map((account) => order.take(account)[0].name)).toEqual(first);
    for (const name of ['a', 'b', 'c'])
      expect(first.filter((one) => one === name).length).toBeGreaterThan(60);
  });

  it('moves only the accounts of an engine that is down', () => {
    const { order, engines } = three({ balance: 'in-order', isSticky: true });
    const first = accounts.map((account) => order.take(account)[0].name);
    const [, b] = engines;
    if (b) b.isUp = false;
    const then = accounts.map((account) => order.take(account)[0].name);
    expect(then).not.toContain('b');
    expect(then.filter((name, at) => first[at] !== 'b' && name !== first[at])).toEqual([]);
  });

  it('gives engines accounts by their weights', () => {
    const { order } = three({ balance: 'in-order', isSticky: true, weights: [8, 1, 1] });
    const first = accounts.map((account) => order.take(account)[0].name);
    expect(first.filter((name) => name === 'a').length).toBeGreaterThan(200);
  });
});
