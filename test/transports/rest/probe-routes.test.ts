/** The paths for monitoring: liveness, readiness and metrics. */
import { createClient } from '@connectrpc/connect';
import { createGrpcTransport } from '@connectrpc/connect-node';
import { afterEach, describe, expect, it } from 'vitest';
import { Health, HealthCheckResponse_ServingStatus } from '../../../gen/health/v1/health_pb.ts';
import { ApiDocument } from '../../support/api-document.ts';
import { bearer, errorOf, type Parley, startParley } from '../../support/parley.ts';

const soon = { timeout: 120_000 };
let parley: Parley;
afterEach(() => parley.close());
const at = (path: string, init?: RequestInit) => fetch(new URL(path, parley.baseUrl), init);
const hello = { model: 'eliza', messages: [{ role: 'user', content: 'Hello.' }] };

/** The samples of a metric, without comments: `name{labels} value`. */
async function samplesOf(name: string): Promise<string[]> {
  return (await parley.metrics())
    .split('\n')
    .filter((line) => line.startsWith(`${name}{`) || line.startsWith(`${name} `));
}

const document = new ApiDocument();

/** The differences between an answer and the OpenAPI document. */
async function documentFaults(path: string): Promise<string[]> {
  const operation = document.find('GET', path);
  if (operation === undefined) return [`it does not have ${path}`];
  const response = await at(path);
  const body = Buffer.from(await response.arrayBuffer());
  const { status, headers } = response;
  return document.faultsOf(operation, { status, headers: Object.fromEntries(headers), body });
}

describe('the probes', () => {
  it('need no key', async () => {
    parley = await startParley();
    for (const [path, body] of [
      ['/healthz', { status: 'ok' }],
      ['/readyz', { status: 'ready', engines: { up: 1, down: 0 } }],
    ] as const) {
      const response = await at(path);
      expect([response.status, await response.json()]).toEqual([200, body]);
      expect(response.headers.get('cache-control')).toBe('no-store');
    }
    expect(await errorOf(await at('/healthz', { method: 'POST' }))).toMatchObject({ status: 404 });
  });

  it('report a stopping server as not ready while it still answers', async () => {
    parley = await startParley({ settings: { server: { unreadyMs: 10_000 } } });
    const closed = parley.close();
    await expect.poll(async () => (await at('/readyz')).status, soon).toBe(503);
    expect(await documentFaults('/readyz')).toEqual([]);
    const transport = createGrpcTransport({ baseUrl: new URL(parley.baseUrl).origin });
    const { status } = await createClient(Health, transport).check({});
    expect(status).toBe(HealthCheckResponse_ServingStatus.NOT_SERVING);
    expect((await parley.postJson('/chat/completions', hello)).status).toBe(200);
    expect((await at('/healthz')).status).toBe(200);
    await closed;
  });
});

describe('the metrics', () => {
  it('need an admin key, unless the operator opens or closes them', async () => {
    parley = await startParley();
    expect(await errorOf(await at('/metrics'))).toMatchObject({ status: 401, code: 'invalid_api_key' });
    expect(await errorOf(await at('/metrics', bearer(parley.apiKey)))).toMatchObject({ status: 403 });
    expect((await at('/metrics', bearer(parley.adminKey))).headers.get('content-type')).toMatch(
      /^text\/plain; version=0\.0\.4/,
    );
    await parley.close();
    parley = await startParley({ settings: { metrics: { access: 'open' } } });
    expect((await at('/metrics')).status).toBe(200);
    await parley.close();
    parley = await startParley({ settings: { metrics: { access: 'off' } } });
    expect((await at('/metrics', bearer(parley.adminKey))).status).toBe(404);
  });

  it('are only on the port for administration, if there is one', async () => {
    parley = await startParley({ settings: { admin: { port: 0 } } });
    expect((await at('/metrics', bearer(parley.adminKey))).status).toBe(404);
    const there = await fetch(new URL('/metrics', parley.app.adminBaseUrl), bearer(parley.adminKey));
    expect(there.status).toBe(200);
  });

  it('count requests by operation, wire, model, state and code', async () => {
    parley = await startParley();
    await (await parley.postJson('/chat/completions', hello)).text();
    await (await parley.postJson('/audio/speech', { model: 'flite', input: 'Hi.' })).arrayBuffer();
    await parley.postJson('/audio/speech', { model: 'made up by a client', input: 'Hi.' });
    expect((await parley.call('/models', bearer('pk_wrong'))).status).toBe(401);
    const requests = await samplesOf('parley_requests_total');
    expect(requests).toContain(
      'parley_requests_total{operation="chat",wire="rest",model="eliza",state="ok",code=""} 1',
    );
    expect(requests).toContain(
      'parley_requests_total{operation="speech",wire="rest",model="other",state="refused",code="unknown_model"} 1',
    );
    expect(await samplesOf('parley_refused_keys_total')).toEqual([
      'parley_refused_keys_total{wire="rest"} 1',
    ]);
    expect(await samplesOf('parley_requests_running')).toContain(
      'parley_requests_running{operation="chat"} 0',
    );
    expect(await samplesOf('parley_holds')).toEqual(['parley_holds 0']);
    expect(await samplesOf('parley_held_credits')).toEqual(['parley_held_credits 0']);
    expect(await samplesOf('parley_characters_total')).toEqual(['parley_characters_total{model="flite"} 3']);
    const { usage } = (await (await parley.postJson('/chat/completions', hello)).json()) as {
      usage: { completion_tokens: number };
    };
    const tokens = await samplesOf('parley_tokens_total');
    expect(tokens.join('\n')).toMatch(
      /parley_tokens_total\{model="eliza",kind="completion",source="\w+"\} \d+/,
    );
    expect(usage.completion_tokens).toBeGreaterThan(0);
    expect((await samplesOf('nodejs_eventloop_lag_p99_seconds')).length).toBe(1);
    expect((await samplesOf('parley_engine_up')).sort()).toEqual(['parley_engine_up{engine="builtin"} 1']);
  });
});
