/** How many requests an engine has, how fast it is and how it fails, as its operator sees it. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { RecentEnds } from '../../../src/engines/run/engine-counts.ts';
import { type BehindOptions, servedModel, startBehind } from '../../support/behind-upstream.ts';
import { fakeTranscription, withFakes } from '../../support/fake-engines.ts';
import { LiveClient } from '../../support/live-client.ts';
import { Ear } from '../../support/live-ear.ts';
import { type Parley, startParley } from '../../support/parley.ts';
import { type Answer, startScriptedUpstream } from '../../support/scripted-upstream.ts';
import { events, failure, json } from '../../support/upstream-answers.ts';

interface RequestsOfEngine {
  readonly running: number;
  readonly ended: number;
  readonly failed: number;
  readonly first_output_ms_median?: number;
  readonly first_output_ms_p95?: number;
  readonly last_failure?: { readonly model: string; readonly code: string; readonly reason: string };
}

const question = { model: 'served', messages: [{ role: 'user', content: 'Hello' }] };
const choice = { index: 0, message: { role: 'assistant', content: 'Hi.' }, finish_reason: 'stop' };
const answer = { id: 'a', object: 'chat.completion', created: 1, model: 'm', choices: [choice] };
const said = { choices: [{ index: 0, delta: { content: 'Hi.' } }] };
const finished = { choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] };

async function start(options?: BehindOptions, ...answers: [Answer, ...Answer[]]) {
  const upstream = await startScriptedUpstream();
  upstream.answer('/chat/completions', ...answers);
  const parley = await startBehind(upstream.baseUrl, options);
  onTestFinished(async () => {
    await parley.close();
    await upstream.stop();
  });
  return parley;
}

async function requestsTo(parley: Parley, engine: string): Promise<RequestsOfEngine | undefined> {
  const response = await parley.admin('/server');
  const { engines } = (await response.json()) as { engines: { name: string; requests: RequestsOfEngine }[] };
  return engines.find(({ name }) => name === engine)?.requests;
}

async function metrics(parley: Parley): Promise<string[]> {
  return (await parley.metrics()).split('\n').filter((line) => line.startsWith('parley_engine_'));
}

const ask = async (parley: Parley, more = {}) =>
  (await parley.postJson('/chat/completions', { ...question, ...more })).text();

it('tells successes, failures and refusals apart, with the reason of the last failure', async () => {
  const engine = { retriesMax: 0, breakerFailures: 100 };
  const parley = await start({ engine }, json(answer), failure(400), failure(500), json(answer));
  for (let at = 0; at < 4; at++) await ask(parley);
  const requests = await requestsTo(parley, 'upstream');
  expect(requests).toMatchObject({
    running: 0,
    ended: 4,
    failed: 1,
    last_failure: {
      model: 'served',
      code: 'upstream_error',
      reason: 'the upstream answered 500 (upstream_code)',
    },
  });
  expect(requests?.first_output_ms_median).toBeLessThanOrEqual(requests?.first_output_ms_p95 ?? -1);
  const labels = 'engine="upstream",model="served"';
  const lines = await metrics(parley);
  expect(lines).toContain(`parley_engine_requests_total{${labels},outcome="ok"} 2`);
  expect(lines).toContain(`parley_engine_requests_total{${labels},outcome="failed"} 1`);
  expect(lines).toContain(`parley_engine_requests_total{${labels},outcome="refused"} 1`);
  expect(lines).toContain(`parley_engine_first_output_seconds_count{${labels}} 2`);
  expect(lines).toContain(`parley_engine_duration_seconds_count{${labels}} 2`);
});

it('counts a stream while it runs, and as cancelled once its client has left', async () => {
  const endless: Answer = async (exchange) => {
    exchange.head(200, { 'content-type': 'text/event-stream' });
    await exchange.write(`data: ${JSON.stringify(said)}\n\n`);
    await exchange.forever();
  };
  const parley = await start({}, endless);
  const client = new AbortController();
  const body = JSON.stringify({ ...question, stream: true });
  await parley.call('/chat/completions', { method: 'POST', body, signal: client.signal });
  expect(await requestsTo(parley, 'upstream')).toMatchObject({ running: 1, ended: 0 });
  expect(await metrics(parley)).toContain('parley_engine_requests_running{engine="upstream"} 1');
  client.abort();
  await expect.poll(() => requestsTo(parley, 'upstream')).toMatchObject({ running: 0, ended: 1, failed: 0 });
});

it('counts a whole stream as a success, one without its end as a failure', async () => {
  const parley = await start({}, events([said, finished]), events([said], { done: false }));
  await ask(parley, { stream: true });
  expect(await requestsTo(parley, 'upstream')).toMatchObject({ ended: 1, failed: 0 });
  await ask(parley, { stream: true });
  expect(await requestsTo(parley, 'upstream')).toMatchObject({
    running: 0,
    ended: 2,
    failed: 1,
    last_failure: { reason: 'the answer is incomplete' },
  });
});

it('counts a request that moves to the next engine on both', async () => {
  const spare = await startScriptedUpstream();
  onTestFinished(() => spare.stop());
  spare.answer('/chat/completions', json(answer));
  const upstream = await startScriptedUpstream();
  upstream.answer('/chat/completions', failure(503));
  onTestFinished(() => upstream.stop());
  const engines = {
    first: { kind: 'openai', baseUrl: upstream.baseUrl, retriesMax: 0, retryStatuses: [503] },
    second: { kind: 'openai', baseUrl: spare.baseUrl },
  };
  const models = [{ ...servedModel, engine: ['first', 'second'] }];
  const folder = mkdtempSync(join(tmpdir(), 'parley-engines-'));
  const file = join(folder, 'parley.yaml');
  writeFileSync(file, JSON.stringify({ engines, models }));
  const parley = await startParley({ file });
  onTestFinished(async () => {
    await parley.close();
    rmSync(folder, { recursive: true });
  });
  expect(JSON.parse(await ask(parley))).toMatchObject({ choices: [{ message: { content: 'Hi.' } }] });
  expect(await requestsTo(parley, 'first')).toMatchObject({ ended: 1, failed: 1 });
  expect(await requestsTo(parley, 'second')).toMatchObject({ ended: 1, failed: 0 });
});

it('counts turns of live speech', async () => {
  const ear = new Ear();
  const transcription = fakeTranscription({ openSpeaker: () => ear.openSpeaker() });
  const parley = await startParley({ engines: withFakes({ transcription }) });
  onTestFinished(() => parley.close());
  const client = new LiveClient(parley);
  client.configure();
  client.speak(new Int16Array(32_000));
  await expect.poll(() => requestsTo(parley, 'builtin')).toMatchObject({ running: 1, ended: 0 });
  client.commit();
  await client.next('turn', 1);
  expect(await requestsTo(parley, 'builtin')).toMatchObject({ running: 0, ended: 1, failed: 0 });
  client.speak(new Int16Array(16_000));
  await expect.poll(() => ear.turns.length).toBe(2);
  client.clear();
  await expect.poll(() => requestsTo(parley, 'builtin')).toMatchObject({ running: 0, ended: 2, failed: 0 });
  await client.finish();
});

it('keeps the last 512 requests, and only those of the last 5 minutes', () => {
  const recent = new RecentEnds();
  for (let at = 1; at <= 600; at++) recent.add({ atMs: at, hasFailed: at <= 100, firstOutputMs: at });
  expect(recent.summary(1_000)).toEqual({ ended: 512, failed: 12, firstOutputMs: { median: 344, p95: 575 } });
  expect(recent.summary(300_590)).toMatchObject({ ended: 10, failed: 0 });
  expect(recent.summary(400_000)).toEqual({ ended: 0, failed: 0, firstOutputMs: undefined });
});
