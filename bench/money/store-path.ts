import { openStore } from '../../src/store/sqlite/sqlite-store.ts';
import { end, holdAmount, type MoneyPath, price, startOf } from './request.ts';

/** As Parley does it: prepared statements, and one commit for what comes together. */
export async function storePath(dataDir: string): Promise<MoneyPath> {
  const store = await openStore(dataDir);
  return {
    async request(keyHash) {
      const holder = await store.findKey(keyHash);
      if (holder?.account === undefined) throw new Error('there is no such key');
      const start = startOf(holder.account.id, holder.key.id);
      const outcome = await store.reserve(start, { hold: { amount: holdAmount, price } });
      if (outcome !== 'reserved') throw new Error(outcome);
      await store.settle(start.id, end);
    },
    close: () => store.close(),
  };
}
