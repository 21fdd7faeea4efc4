/** Why a request failed, was refused or moved to another engine, as its usage record tells over the API. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import { servedModel } from '../../support/behind-upstream.ts';
import { bearer, type Parley, startParley } from '../../support/parley.ts';
import { type ScriptedUpstream, startScriptedUpstream } from '../../support/scripted-upstream.ts';
import { events, failure, json } from '../../support/upstream-answers.ts';

const choices = [{ index: 0, message: { role: 'assistant', content: 'Hi.' }, finish_reason: 'stop' }];
const answer = { choices, usage: { prompt_tokens: 2, completion_tokens: 1, total_tokens: 3 } };
const said = { choices: [{ index: 0, delta: { content: 'Hi.' } }] };

let upstream: ScriptedUpstream;
let spare: ScriptedUpstream;
let parley: Parley;
beforeAll(async () => {
  [upstream, spare] = [await startScriptedUpstream(), await startScriptedUpstream()];
  const engines = {
    first: {
      kind: 'openai',
      baseUrl: upstream.baseUrl,
      retriesMax: 0,
      retryStatuses: [503],
      voices: { a: 'en' },
    },
    second: { kind: 'openai', baseUrl: spare.baseUrl },
  };
  const models = [
    { ...servedModel, engine: ['first', 'second'] },
    { id: 'speaker', type: 'speech', engine: 'first' },
  ];
  const folder = mkdtempSync(join(tmpdir(), 'parley-causes-'));
  const file = join(folder, 'parley.yaml');
  writeFileSync(file, JSON.stringify({ engines, models }));
  parley = await startParley({ file });
  rmSync(folder, { recursive: true });
});
beforeEach(() => {
  upstream.answer('/chat/completions', json(answer));
  spare.answer('/chat/completions', json(answer));
});
afterAll(async () => {
  await parley.close();
  await upstream.stop();
  await spare.stop();
});

type Json = Record<string, unknown>;

const body = { model: 'served', max_tokens: 5, messages: [{ role: 'user', content: 'Hi.' }] };

/** Sends a chat, and returns its record as the API shows it. */
async function recordAfter(more: Json = {}, key = parley.apiKey): Promise<Json> {
  const response = await parley.postJson('/chat/completions', { ...body, ...more }, bearer(key));
  await response.text();
  const { records } = await list(`id=${response.headers.get('x-request-id')}`, key);
  expect(records).toHaveLength(1);
  return records[0] ?? {};
}

async function list(filter: string, key = parley.apiKey): Promise<{ records: Json[] }> {
  const response = await parley.call(`/usage?${filter}`, bearer(key));
  expect(response.status).toBe(200);
  return (await response.json()) as { records: Json[] };
}

it('names the engine of a chat, and what was held and debited', async () => {
  const record = await recordAfter();
  expect(record).toMatchObject({ state: 'ok', engine: 'first', cost_nano_credits: 3_000 });
  expect(record['reserved_nano_credits']).toBeGreaterThan(3_000);
  expect(record).not.toHaveProperty('limit');
  expect(record['attempts'] ?? []).toEqual([]);
});

it('names each engine of a chat that moved to the next one, with the answer of the upstream but not its words', async () => {
  upstream.answer('/chat/completions', failure(503));
  const record = await recordAfter();
  expect(record).toMatchObject({ state: 'ok', engine: 'second' });
  const times = { duration_ms: expect.any(Number) };
  expect(record['attempts']).toEqual([
    {
      engine: 'first',
      code: 'upstream_error',
      upstream_status: 503,
      upstream_code: 'upstream_code',
      ...times,
    },
    expect.objectContaining({ engine: 'second' }),
  ]);
  expect(JSON.stringify(record)).not.toContain('upstream words');
});

it.each([
  ['a refusal', failure(400), {}, 'failed', { upstream_status: 400, upstream_code: 'upstream_code' }],
  ['a broken stream', events([said], { done: false }), { stream: true }, 'failed', {}],
])('tells of %s by the only engine that was tried', async (_, answers, more, state, upstreamFacts) => {
  upstream.answer('/chat/completions', answers);
  const record = await recordAfter(more);
  expect(record).toMatchObject({ state, code: 'upstream_error', engine: 'first' });
  expect(record['attempts']).toMatchObject([{ engine: 'first', code: 'upstream_error', ...upstreamFacts }]);
  expect(record).not.toHaveProperty('cost_nano_credits');
});

it('has no status where nobody answered', async () => {
  upstream.answer('/chat/completions', async (exchange) => exchange.reset());
  const record = await recordAfter();
  const attempts = record['attempts'] as Json[];
  expect(attempts.at(0)).toMatchObject({ engine: 'first', code: 'upstream_error' });
  expect(attempts.at(0)).not.toHaveProperty('upstream_status');
});

it('names the limit that refused', async () => {
  const poor = await parley.newKey({ trial: true });
  expect(await recordAfter({}, poor)).toMatchObject({
    state: 'refused',
    code: 'insufficient_credits',
    limit: { owner: 'account', unit: 'balance', limit: 0, taken: 0, amount: expect.any(Number) },
  });
});

it('names the key whose limit refused', async () => {
  const limits = { requests_per_minute: 1 };
  const made = await parley.admin(`/accounts/${parley.accountId}/keys`, { name: 'slow', limits });
  const { secret } = (await made.json()) as { secret: string };
  await recordAfter({}, secret);
  expect(await recordAfter({}, secret)).toMatchObject({
    code: 'rate_limit_exceeded',
    limit: { owner: 'key', unit: 'requests', amount: 1, limit: 1, taken: 1 },
  });
});

it('has the units of fair use that a failed request gave back', async () => {
  upstream.answer('/audio/speech', failure(500));
  const speech = { model: 'speaker', voice: 'a', input: 'Hello.' };
  const response = await parley.postJson('/audio/speech', speech);
  await response.text();
  const { records } = await list(`id=${response.headers.get('x-request-id')}`);
  expect(records).toMatchObject([{ state: 'failed', fair_use_units: 0 }]);
  expect(records[0]?.['returned_units']).toBeGreaterThan(0);
});

it('finds records by code, engine and HTTP status, and sums them', async () => {
  const key = await parley.newKey({ credits: '1' });
  await recordAfter({}, key);
  upstream.answer('/chat/completions', failure(400));
  await recordAfter({}, key);
  upstream.answer('/chat/completions', failure(503));
  const moved = await recordAfter({}, key);
  const count = async (filter: string) => (await list(filter, key)).records.length;
  expect((await list('engine=second', key)).records.map(({ id }) => id)).toEqual([moved['id']]);
  expect(await count('operation=chat&engine=first')).toBe(2);
  expect(await count('code=upstream_error')).toBe(1);
  expect(await count('http_status=400')).toBe(1);
  expect(await count('engine=none')).toBe(0);
  const day = new Date().toISOString().slice(0, 10);
  const next = new Date(Date.now() + 86_400_000).toISOString().slice(0, 10);
  const days = `start_time=${day}T00:00:00Z&end_time=${next}T00:00:00Z`;
  const grouped = 'group_by=operation&group_by=engine&group_by=code&group_by=http_status';
  const response = await parley.call(`/usage/totals?${days}&${grouped}`, bearer(key));
  const { totals } = (await response.json()) as { totals: Json[] };
  const chats = totals.filter(({ operation }) => operation === 'chat');
  expect(
    chats.map(({ engine, code, http_status, requests }) => [engine, code, http_status, requests]),
  ).toEqual(
    expect.arrayContaining([
      ['first', undefined, 200, 1],
      ['first', 'upstream_error', 400, 1],
      ['second', undefined, 200, 1],
    ]),
  );
  expect(chats).toHaveLength(3);
});

it('refuses sums by engine of more days than the server reads', async () => {
  const response = await parley.call('/usage/totals?group_by=engine');
  expect([response.status, await response.text()]).toEqual([400, expect.stringContaining('31 days')]);
});
