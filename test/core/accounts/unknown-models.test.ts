/** Names that are no model of the catalog: refused requests keep them in their records, and totals have none of them. */
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { ParleyError } from '../../../src/core/values/errors.ts';
import { fakeChat, withFakes } from '../../support/fake-engines.ts';
import { bearer, type Parley, startParley } from '../../support/parley.ts';

let parley: Parley;
let known: string;
beforeEach(async () => {
  const refuse = () => Promise.reject(new ParleyError('upstream_error'));
  parley = await startParley({ engines: withFakes({ chat: fakeChat({ complete: refuse }) }) });
  const models = (await (await parley.call('/models?type=chat')).json()) as { data: { id: string }[] };
  known = String(models.data[0]?.id);
});
afterEach(async () => {
  vi.restoreAllMocks();
  await parley.close();
});

const chat = (model: string, init: RequestInit = {}) => {
  const headers = { ...bearer(parley.apiKey).headers, 'idempotency-key': 'once' };
  const body = { model, messages: [{ role: 'user', content: 'a' }] };
  return parley.postJson('/chat/completions', body, { headers, ...init });
};

/** Lets the claim on an Idempotency-Key, which comes before the model is looked up, do this instead. */
const claimInstead = (act: () => Promise<never>) =>
  vi.spyOn(parley.app.store.idempotency, 'claim').mockImplementationOnce(act);

async function chatRecords() {
  const { items } = await parley.app.store.usage.list({ operation: 'chat' }, { size: 9, after: undefined });
  return items.map(({ state, model }) => [state, model]);
}

async function totalModels() {
  const wanted = { accountId: parley.accountId, groupBy: ['model', 'state'], totalsMax: 99 } as const;
  const all = { keyId: undefined, fromMs: undefined, untilMs: undefined, top: undefined };
  const totals = await parley.app.store.usage.totals({ ...wanted, ...all });
  if (totals === 'too_many') throw new Error('there are too many totals');
  return totals.map(({ of }) => [of.state, of.model]).filter(([state]) => state !== 'ok');
}

it('a refused request keeps the name in its record alone', async () => {
  expect((await chat('no-such-model')).status).toBe(400);
  expect(await chatRecords()).toEqual([['refused', 'no-such-model']]);
  expect(await totalModels()).toEqual([['refused', '']]);
});

it('a request that fails before its model is looked up keeps the name only of a model', async () => {
  const fail = () => Promise.reject(new ParleyError('internal_error'));
  for (const model of ['no-such-model', known]) {
    claimInstead(fail);
    expect((await chat(model)).status).toBe(500);
  }
  expect(await chatRecords()).toEqual([
    ['failed', known],
    ['failed', undefined],
  ]);
  expect(await totalModels()).toEqual([
    ['failed', ''],
    ['failed', known],
  ]);
});

it('a request whose client leaves before its model is looked up keeps the name only of a model', async () => {
  for (const model of ['no-such-model', known]) {
    const client = new AbortController();
    const claimed = Promise.withResolvers<void>();
    const left = Promise.withResolvers<never>();
    claimInstead(() => {
      claimed.resolve();
      return left.promise;
    });
    const asked = chat(model, { signal: client.signal });
    asked.catch(() => undefined);
    await claimed.promise;
    client.abort();
    await expect(asked).rejects.toThrow();
    left.reject(new ParleyError('request_cancelled'));
  }
  await expect.poll(chatRecords).toHaveLength(2);
  await expect.poll(async () => (await chatRecords()).map(([state]) => state)).not.toContain('started');
  expect((await chatRecords()).map(([, model]) => model).sort()).toEqual([known, undefined]);
  expect(new Set((await chatRecords()).map(([state]) => state))).toEqual(new Set(['cancelled']));
  expect((await totalModels()).sort()).toEqual([
    ['cancelled', ''],
    ['cancelled', known],
  ]);
});

it('a request that fails after that keeps its model', async () => {
  expect((await chat(known)).status).toBe(502);
  expect(await totalModels()).toEqual([['failed', known]]);
});
