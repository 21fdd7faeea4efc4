/** Memory after many requests: nothing of ended requests is kept. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { newAccountId, newKeyId } from '../../src/core/values/ids.ts';
import { nanoCredits } from '../../src/core/values/money.ts';
import { openStore } from '../../src/store/sqlite/open-store.ts';
import { liveBytes } from '../support/live-bytes.ts';
import { addAccount } from '../support/stored-key.ts';
import { recordEnd, recordStart } from '../support/usage-record.ts';

const requests = 100_000;
const warmUp = 10_000;
const atOnce = 64;
/** Less than 11 bytes per request. */
const grownBytesMax = 1024 ** 2;

it(`is the same as before ${requests} requests`, { timeout: 600_000 }, async () => {
  const dataDir = mkdtempSync(join(tmpdir(), 'parley-heap-'));
  const store = await openStore(dataDir);
  const [accountId, keyId] = [newAccountId(1), newKeyId(1)];
  await addAccount(store, accountId, [keyId], 10n ** 15n);
  const price = { inputPerMillion: nanoCredits(1n), outputPerMillion: nanoCredits(2n) };
  const hold = { amount: nanoCredits(50n), price };
  const end = recordEnd('ok', { cost: nanoCredits(10n) });
  /** One request in sixteen runs until its started record is written. */
  const request = async (n: number) => {
    const start = recordStart({ accountId, keyId });
    await store.requests.reserve(start, { hold });
    if (n % 16 === 0) await store.requests.started(start.id);
    await store.requests.settle(start.id, end);
  };
  const run = async (count: number) => {
    for (let n = 0; n < count; n += atOnce) {
      await Promise.all(Array.from({ length: atOnce }, (_, index) => request(n + index)));
    }
  };
  await run(warmUp);
  const before = liveBytes();
  await run(requests);
  expect(liveBytes() - before).toBeLessThan(grownBytesMax);
  await store.close();
  rmSync(dataDir, { recursive: true });
});
