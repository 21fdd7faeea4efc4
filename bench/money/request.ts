/** The measured request: a chat that costs less than its hold. */

import type { Store } from '../../src/core/entities/store.ts';
import type { TokenUsage } from '../../src/core/entities/usage.ts';
import type { AccountId, KeyId } from '../../src/core/values/ids.ts';
import { nanoCredits, type Price } from '../../src/core/values/money.ts';
import { openPostgresStore } from '../../src/store/postgres/open-store.ts';
import { openStore } from '../../src/store/sqlite/open-store.ts';
import { recordEnd, recordStart } from '../../test/support/usage-record.ts';

export const price: Price = {
  inputPerMillion: nanoCredits(100_000_000n),
  outputPerMillion: nanoCredits(400_000_000n),
};
export const holdAmount = nanoCredits(500_000n);
export const costAmount = nanoCredits(200_000n);
export const tokens: TokenUsage = {
  promptTokens: 1_000,
  completionTokens: 250,
  totalTokens: 1_250,
  source: 'reported',
};

/** Takes a request through key, hold, settlement and record, durably. */
export interface MoneyPath {
  request(keyHash: string): Promise<void>;
  close(): Promise<void>;
}

export const startOf = (accountId: AccountId, keyId: KeyId) =>
  recordStart({ accountId, keyId }, { model: 'eliza' });

export const end = recordEnd('ok', { firstOutputMs: 5, durationMs: 9, tokens, cost: costAmount });

/** Parley's own path. */
export async function storePath(dataDir: string): Promise<MoneyPath> {
  return pathOf(await openStore(dataDir));
}

/** Parley's own path on PostgreSQL. */
export async function postgresPath(url: string): Promise<MoneyPath> {
  const store = await openPostgresStore({ url });
  await store.requests.recover(Date.now());
  return pathOf(store);
}

function pathOf(store: Store): MoneyPath {
  return {
    async request(keyHash) {
      const holder = await store.keys.find(keyHash);
      if (holder?.account === undefined) throw new Error('unknown key');
      const start = startOf(holder.account.id, holder.key.id);
      const outcome = await store.requests.reserve(start, { hold: { amount: holdAmount, price } });
      if (outcome.kind !== 'reserved') throw new Error(outcome.kind);
      await store.requests.settle(start.id, end);
    },
    close: () => store.close(),
  };
}
