/** The running server, as the operator sees it. */
import { expect, it, onTestFinished } from 'vitest';
import { startBehind } from '../../support/behind-upstream.ts';
import { bearer, type Parley } from '../../support/parley.ts';
import { startScriptedUpstream } from '../../support/scripted-upstream.ts';

const isShared = process.env['PARLEY_TEST_STORE'] === 'postgres';

/** A server whose only upstream is unreachable. */
async function startAlone(): Promise<Parley> {
  const upstream = await startScriptedUpstream();
  const engine = { breakerFailures: 1, retriesMax: 0, callsMax: 7, callQueueMax: 3 };
  const parley = await startBehind(upstream.baseUrl, { engine });
  onTestFinished(() => parley.close());
  await upstream.stop();
  return parley;
}

async function ask<T>(parley: Parley, method: 'GET' | 'POST', path: string): Promise<T> {
  const answer = await parley.call(`/admin/${path}`, { method, ...bearer(parley.adminKey) });
  expect(answer.status).toBe(200);
  return (await answer.json()) as T;
}

it('shows the circuit breaker and the queue of an engine', async () => {
  const parley = await startAlone();
  const engines = async () => (await ask<{ engines: object[] }>(parley, 'GET', 'server')).engines;
  const counts = { running: 0, running_max: 7, waiting: 0, waiting_max: 3 };
  expect(await engines()).toMatchObject([{ name: 'upstream', up: true, breaker: 'closed', ...counts }]);
  const question = { model: 'served', messages: [{ role: 'user', content: 'Hello' }] };
  expect((await parley.postJson('/chat/completions', question)).status).toBe(502);
  expect(await engines()).toMatchObject([{ name: 'upstream', up: false, breaker: 'open', ...counts }]);
});

it('runs all checks of `parley doctor` for a server, while it serves', async () => {
  const parley = await startAlone();
  const { diagnostics } = await ask<{ diagnostics: { area: string; subject: string; state: string }[] }>(
    ...([parley, 'POST', 'server/diagnose'] as const),
  );
  const areas = [...new Set(diagnostics.map(({ area }) => area))];
  expect(areas).toEqual([
    ...['server', 'engine upstream', 'data folder', 'TLS', 'limits', 'clock', 'database'],
  ]);
  const states = new Map(diagnostics.map(({ area, subject, state }) => [`${area}, ${subject}`, state]));
  expect(states.get('server, readiness')).toBe('ok');
  expect(states.get('database, schema')).toBe('ok');
  expect(states.get('TLS, certificate')).toBe('ok');
  expect(states.get('clock, clock')).toBe('ok');
  expect([...states].some(([what, state]) => what.startsWith('engine') && state === 'problem')).toBe(true);
  expect([...states.keys()]).toContain('data folder, free space');
});

it('lists the servers that share the database', async () => {
  const parley = await startAlone();
  const question = { model: 'served', messages: [{ role: 'user', content: 'Hello' }] };
  await parley.postJson('/chat/completions', question);
  const { nodes } = await ask<{ nodes: object[] }>(parley, 'GET', 'nodes');
  const own = { name: expect.stringMatching(`:${process.pid}$`), state: 'alive', late_ms: 0, answers: true };
  expect(nodes).toMatchObject(isShared ? [own] : []);
  expect(nodes).toHaveLength(isShared ? 1 : 0);
});
