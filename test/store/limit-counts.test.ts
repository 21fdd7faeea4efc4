/** Counted amounts, on each database. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { CountedAmount } from '../../src/core/entities/count.ts';
import type { Store } from '../../src/core/entities/store.ts';
import {
  type AccountId,
  type KeyId,
  newAccountId,
  newKeyId,
  newRequestId,
} from '../../src/core/values/ids.ts';
import { endUserId } from '../../src/core/values/labels.ts';
import { nanoCredits } from '../../src/core/values/money.ts';
import { outcomeOf } from '../support/reservations.ts';
import { newStoreFolder, type StoreFolder, testsPostgres } from '../support/store-folder.ts';
import { addAccount } from '../support/stored-key.ts';
import { recordEnd, recordStart } from '../support/usage-record.ts';

const price = { inputPerMillion: nanoCredits(1n), outputPerMillion: nanoCredits(1n) };
const hold = (amount: bigint) => ({ amount: nanoCredits(amount), price });

let folder: StoreFolder;
let store: Store;
let accountId: AccountId;
let keyId: KeyId;
beforeEach(async () => {
  folder = await newStoreFolder();
  store = await folder.open();
  accountId = newAccountId(1);
  keyId = newKeyId(1);
  await addAccount(store, accountId, [keyId], 1000n);
});
afterEach(async () => {
  await store.close();
  await folder.remove();
});

const start = () => recordStart({ accountId, keyId }, { id: newRequestId(Date.now()), startedAtMs: 5 });
const ended = (cost: bigint | undefined) =>
  cost === undefined ? recordEnd('failed') : recordEnd('ok', { cost: nanoCredits(cost) });
const budget = (amount: bigint, limit: bigint): CountedAmount => {
  return { owner: keyId, unit: 'credits', period: '1970-01', amount, limit };
};

describe('counted amounts', () => {
  it('survive a kill with the used amounts, without those of running requests', async () => {
    const month = budget(6n, 100n);
    const [spent, running] = [start(), start()];
    await store.requests.reserve(spent, { hold: hold(6n), counted: [month] });
    await store.requests.settle(spent.id, ended(4n));
    await store.requests.reserve(running, { hold: hold(6n), counted: [month] });
    await store.requests.started(running.id);
    const killed = await folder.killed();
    const next = await killed.open();
    expect(await next.requests.recover(10)).toBe(1);
    expect(await next.requests.taken([month])).toEqual([4n]);
    await next.close();
    await killed.remove();
  });

  it('of end users are removed 63 days after their day or month began, in steps', async () => {
    const endUser = endUserId(keyId);
    const periods = ['2026-09', '2026-10', '2026-09-28', '2026-09-29'];
    const counted = [keyId, endUser].flatMap((owner) =>
      periods.map((period) => ({ ...budget(1n, 100n), owner, period })),
    );
    // More than one step looks at.
    const others = Array.from({ length: 1_200 }, (_, at) => ({
      ...budget(1n, 100n),
      owner: endUserId(keyId, `user ${at}`),
      period: at % 2 === 0 ? '2026-09-01' : '2026-11-01',
    }));
    const all = [...counted, ...others];
    for (let at = 0; at < all.length; at += 100) {
      const spent = start();
      await store.requests.reserve(spent, { hold: hold(1n), counted: all.slice(at, at + 100) });
      await store.requests.settle(spent.id, ended(1n));
    }
    const beforeMs = Date.UTC(2026, 8, 29);
    let steps = 0;
    for (let after: string | undefined = 'usr_'; after !== undefined; steps++) {
      after = await store.usage.pruneEndUsers({ after, beforeMs });
    }
    expect(steps).toBe(2);
    await store.close();
    store = await folder.open();
    const left = counted.filter(
      ({ owner, period }) => owner === keyId || !['2026-09', '2026-09-28'].includes(period),
    );
    const keptOf = async (asked: readonly CountedAmount[]) => {
      const taken = await store.requests.taken(asked);
      return asked.filter((_, at) => taken[at] !== 0n);
    };
    expect(await keptOf(counted)).toEqual(left);
    expect(await keptOf(others)).toEqual(others.filter(({ period }) => period === '2026-11-01'));
  });

  it('admit exactly 10 of 200 reservations at once, from every node', async () => {
    const nodes = [store, ...(testsPostgres ? [await folder.open(), await folder.open()] : [])];
    const outcomes = await Promise.all(
      Array.from({ length: 200 }, async (_, n) => {
        const node = nodes[n % nodes.length] ?? store;
        const request = start();
        const outcome = await node.requests.reserve(request, { hold: hold(1n), counted: [budget(1n, 10n)] });
        if (outcome.kind === 'reserved') await node.requests.settle(request.id, ended(1n));
        return outcomeOf(outcome);
      }),
    );
    expect(outcomes.filter((outcome) => outcome === 'reserved')).toHaveLength(10);
    expect(outcomes.filter((outcome) => outcome === 'credits')).toHaveLength(190);
    expect(await store.requests.taken([budget(0n, 0n)])).toEqual([10n]);
    for (const node of nodes.slice(1)) await node.close();
  });
});
