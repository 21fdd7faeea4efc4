/**
 * A node in a separate process, which tests stop or kill: `node-process.ts URL LEASE_MS ACCOUNT KEY`. It begins a
 * request that holds credits and units and claims a key, and writes the id of the request. When it reads a line, it
 * ends the request and writes the outcome.
 */
import { createInterface } from 'node:readline';
import { toParleyError } from '../../../src/core/values/errors.ts';
import { type AccountId, type KeyId, newRequestId } from '../../../src/core/values/ids.ts';
import { nanoCredits } from '../../../src/core/values/money.ts';
import { openPostgresStore } from '../../../src/store/postgres/open-store.ts';
import { fairUse } from '../reservations.ts';
import { recordEnd, recordStart } from '../usage-record.ts';

const [url = '', leaseMs, account, key] = process.argv.slice(2);
const accountId = account as AccountId;
const keyId = key as KeyId;
const store = await openPostgresStore({ url, leaseMs: Number(leaseMs) });
const nowMs = Date.now();
const id = newRequestId(nowMs);
const price = { inputPerMillion: nanoCredits(1n), outputPerMillion: nanoCredits(2n) };
const claim = { accountId, operation: 'chat', key: 'once', fingerprint: 'f', requestId: id } as const;
await store.idempotency.claim({ ...claim, nowMs, forgetBeforeMs: 0 });
await store.requests.reserve(recordStart({ accountId, keyId }, { id, startedAtMs: nowMs }), {
  hold: { amount: nanoCredits(40n), price },
  counted: [fairUse(accountId, 6, 9)],
});
process.stdout.write(`${id}\n`);

for await (const _ of createInterface(process.stdin)) {
  try {
    await store.requests.settle(id, recordEnd('ok', { fairUseUnits: 6, cost: nanoCredits(30n) }));
    process.stdout.write('settled\n');
  } catch (error) {
    process.stdout.write(`${toParleyError(error).code}\n`);
  }
}
await store.close();
