/** Requests that were refused while the database could not be written: each gets its record later, up to a limit. */
import { mkdtempSync, renameSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { Unsettled } from '../../../src/core/billing/unsettled.ts';
import type { Store } from '../../../src/core/entities/store.ts';
import { newAccountId, newKeyId, newRequestId } from '../../../src/core/values/ids.ts';
import { openStore } from '../../../src/store/sqlite/open-store.ts';
import { addAccount } from '../../support/stored-key.ts';
import { recordEnd, recordStart } from '../../support/usage-record.ts';

const accountId = newAccountId(1);
const keyId = newKeyId(1);
const refusedMax = 3;

let folder: string;
let store: Store;
let unsettled: Unsettled;
const logged: unknown[] = [];
const note = (fields: object, message: string) => void logged.push({ message, ...fields });
const data = () => join(folder, 'data');
const elsewhere = () => join(folder, 'elsewhere');

beforeEach(async () => {
  logged.length = 0;
  folder = mkdtempSync(join(tmpdir(), 'parley-unsettled-'));
  store = await openStore(data());
  await addAccount(store, accountId, [keyId]);
  unsettled = new Unsettled(store, { info: note, warn: note, error: note }, refusedMax);
});
afterEach(async () => {
  await store.close();
  rmSync(folder, { recursive: true });
});

const end = recordEnd('failed', { httpStatus: 503, code: 'overloaded', firstOutputMs: undefined });

/** A request that is refused because its record cannot be written. */
async function refuse(): Promise<void> {
  const id = newRequestId(Date.now());
  const start = recordStart({ accountId, keyId }, { id, model: undefined, startedAtMs: 1 });
  const reason: unknown = await store.requests.record(start, end).then(
    () => undefined,
    (error) => error,
  );
  expect(reason).toMatchObject({ code: 'overloaded' });
  unsettled.add({ id, start, end, claim: undefined }, reason);
}

const records = async () => (await store.usage.list({}, { size: 100, after: undefined })).items.length;

describe('refused requests', () => {
  beforeEach(async () => {
    renameSync(data(), elsewhere());
    for (let n = 0; n < refusedMax + 2; n++) await refuse();
  });

  it('are recorded when the outage is over; those beyond the limit are counted in the log', async () => {
    renameSync(elsewhere(), data());
    await expect.poll(records, { timeout: 60_000 }).toBe(refusedMax);
    await unsettled.close();
    expect(logged).toEqual([
      expect.objectContaining({ message: 'could not record a request; trying again' }),
      { message: 'wrote ends of requests that could not be written before', count: refusedMax },
      { message: 'refused requests have no record, as they were too many or the server ends', count: 2 },
    ]);
    expect(await records()).toBe(refusedMax);
  });

  it('are recorded at the end of the server at the latest', async () => {
    renameSync(elsewhere(), data());
    await unsettled.close();
    expect(await records()).toBe(refusedMax);
  });

  it('are counted in the log if the server ends before the outage does', async () => {
    await unsettled.close();
    expect(logged.at(-1)).toEqual({
      message: 'refused requests have no record, as they were too many or the server ends',
      count: refusedMax + 2,
    });
    renameSync(elsewhere(), data());
    expect(await records()).toBe(0);
  });
});
