/** The real program with a program behind it: money, streams, failover, reloads. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { loadConfig } from '../../../src/config/config.ts';
import { rounds, timeout } from '../../supervisor/rounds.ts';
import { question, readEvents } from '../../support/chat-answers.ts';
import { startHttp } from '../../support/http-server.ts';
import { errorOf, type Parley, startParley } from '../../support/parley.ts';
import { processesWith, type TinyOptions, tinyEngine, tinyModel } from '../../support/tiny-program.ts';

const path = '/chat/completions';
let parley: Parley;
afterEach(() => parley.close());

async function start(options: TinyOptions = {}, settings: object = {}, server: object = {}): Promise<void> {
  const engines = { tiny: tinyEngine(options, settings) };
  parley = await startParley({ settings: { engines, models: [tinyModel('tiny')], realtime: [], server } });
}
const ask = (body: object = {}, init: RequestInit = {}) =>
  parley.postJson(path, { ...question, model: 'tiny', max_tokens: 2, ...body }, init);
const balance = async () => (await parley.app.store.accounts.find(parley.accountId))?.balance;
/** The processes of the engine. The guard and the program have its socket in their command lines. */
const running = () => processesWith(join(parley.dataDir, 'sockets'));
interface Engine {
  readonly name: string;
  readonly program: Record<string, unknown>;
}
const engineState = async () => {
  const response = await parley.admin('/server');
  const { engines } = (await response.json()) as { engines: Engine[] };
  return engines.find(({ name }) => name === 'tiny')?.program;
};

/** The text that has come so far. Resolves once there is some; the rest can be awaited. */
async function begun(response: Response): Promise<{ readonly rest: Promise<string> }> {
  const reader = (response.body ?? new ReadableStream<Uint8Array>()).getReader();
  const decoder = new TextDecoder();
  const first = await reader.read();
  const readAll = async () => {
    let text = decoder.decode(first.value);
    for (;;) {
      const { value, done } = await reader.read();
      if (done) return text;
      text += decoder.decode(value);
    }
  };
  return { rest: readAll() };
}

describe('an engine that is a program', () => {
  it('starts nothing before the first request, and lists its models', async () => {
    await start();
    const { data } = (await (await parley.call('/models')).json()) as { data: { id: string }[] };
    expect(data.map(({ id }) => id)).toEqual(['tiny']);
    expect(running()).toEqual([]);
    expect(await (await parley.call('/models/tiny')).json()).toMatchObject({ context_window: 4096 });
    expect(running()).toEqual([]);
  });

  it('answers chats, whole and streamed, and charges the reported tokens', async () => {
    await start();
    const whole = await ask();
    expect(await whole.json()).toMatchObject({ usage: { prompt_tokens: 7, completion_tokens: 2 } });
    const { text, isDone } = await readEvents(await ask({ stream: true }));
    expect([text, isDone]).toEqual(['hi hi ', true]);
    expect(await parley.recordOf(whole)).toMatchObject({ state: 'ok', cost: 9n * 1_000n });
  });

  it('frees its memory within two seconds of its idle end', async () => {
    await start({ megabytes: 100 }, { idleMs: 100 });
    await (await ask()).arrayBuffer();
    const endedAtMs = performance.now();
    await expect.poll(running).toEqual([]);
    expect(performance.now() - endedAtMs).toBeLessThan(2_100);
  });

  it(`cuts a stream whose program is killed, charges nothing and serves the next request, ${rounds} times`, {
    timeout,
  }, async () => {
    await start();
    const before = await balance();
    let served = 0n;
    for (let round = 0; round < rounds; round++) {
      const response = await ask({ stream: true, max_tokens: 1_000 });
      const { rest } = await begun(response);
      // In turn the shell that guards the program, the program, and both with the shell's watch.
      const pids = running();
      expect(pids).toHaveLength(3);
      const killed = round % 3 === 2 ? pids : pids.slice(round % 3, (round % 3) + 1);
      for (const pid of killed) process.kill(pid, 'SIGKILL');
      const text = await rest;
      expect(text).toContain('"code":"upstream_error"');
      expect(text).not.toContain('[DONE]');
      expect(await parley.recordOf(response)).toMatchObject({ state: 'failed', code: 'upstream_error' });
      // A request that still reaches a dying program is lost with it.
      await expect.poll(async () => (await engineState())?.['state']).toMatch(/^(stopped|failed)$/);
      const next = await ask();
      expect(next.status).toBe(200);
      await next.arrayBuffer();
      served += 9n * 1_000n;
    }
    expect(await balance()).toBe((before ?? 0n) - served);
  });

  it('tells the client of a stream by comments that it waits', async () => {
    await start({ loadMs: 500 }, {}, { streamPingMs: 50 });
    const response = await ask({ stream: true });
    const text = await response.text();
    expect(text.startsWith(': waiting\n\n: waiting\n\n')).toBe(true);
    const { events, isDone } = await readEvents(new Response(text.replaceAll(': waiting\n\n', '')));
    expect([events.length, isDone]).toEqual([3, true]);
    expect(await parley.recordOf(response)).toMatchObject({ state: 'ok' });
  });

  it('that cannot start is a 503 with the last line of its errors, and costs nothing', async () => {
    await start({ trick: 'exit' });
    const response = await ask();
    expect(response.headers.get('retry-after')).toBe('1');
    expect(await errorOf(response.clone())).toMatchObject({ status: 503, code: 'engine_unavailable' });
    expect((await errorOf(response.clone())).message).toContain('status 3: error: the weights are missing');
    expect(await parley.recordOf(response)).toMatchObject({ state: 'failed', code: 'engine_unavailable' });
    // The pause after a failure may be over by now.
    expect(await engineState()).toMatchObject({
      state: expect.stringMatching(/^(failed|stopped)$/),
      failure: expect.stringContaining('weights'),
    });
    expect(await balance()).toBe(10_000_000_000n);
  });

  it('refuses requests beyond its queue while it loads', async () => {
    await start({ loadMs: 600 }, { callsMax: 1, callQueueMax: 1 });
    const asked = [ask(), ask()];
    await expect.poll(engineState).toMatchObject({ state: 'loading' });
    await expect
      .poll(async () => (await parley.app.store.usage.list({}, { size: 9, after: undefined })).items.length)
      .toBe(2);
    expect(await errorOf(await ask())).toMatchObject({ status: 503, code: 'overloaded' });
    expect((await Promise.all(asked)).map(({ status }) => status)).toEqual([200, 200]);
  });

  it('is not needed if another engine of the model can serve', async () => {
    const other = await startHttp((_, response) => {
      const choices = [{ index: 0, message: { role: 'assistant', content: 'other' }, finish_reason: 'stop' }];
      response.setHeader('content-type', 'application/json');
      response.end(JSON.stringify({ id: 'c', object: 'chat.completion', created: 1, model: 'm', choices }));
    });
    parley = await startParley({
      settings: {
        engines: {
          tiny: tinyEngine({ trick: 'exit' }),
          other: { kind: 'openai', baseUrl: `${other.origin}/v1` },
        },
        models: [tinyModel('tiny', { engine: ['tiny', 'other'] })],
        realtime: [],
      },
    });
    for (let request = 0; request < 3; request++) {
      expect(await (await ask()).json()).toMatchObject({ choices: [{ message: { content: 'other' } }] });
    }
    await other.close();
  });

  it('is loaded by hand, and unloaded after its last request', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'parley-process-'));
    const gate = join(folder, 'gate');
    await start({ gate });
    const byHand = async (verb: 'load' | 'unload') =>
      (await parley.admin(`/engines/${verb}`, { name: 'tiny' })).json();
    expect(await byHand('unload')).toMatchObject({ program: { state: 'stopped' } });
    expect(await byHand('load')).toMatchObject({ name: 'tiny', program: { state: 'ready', starts: 1 } });
    const { rest } = await begun(await ask({ stream: true }));
    expect(await byHand('unload')).toMatchObject({ program: { state: 'busy' } });
    writeFileSync(gate, '');
    expect(await rest).toContain('[DONE]');
    await expect.poll(engineState).toMatchObject({ state: 'stopped', starts: 1 });

    expect((await ask()).status).toBe(200);
    await expect.poll(engineState).toMatchObject({ state: 'ready', starts: 2 });
    await byHand('unload');
    await expect.poll(engineState).toMatchObject({ state: 'stopped', starts: 2 });
    rmSync(folder, { recursive: true });
  });

  it('says why it cannot be loaded', async () => {
    await start({ trick: 'exit' });
    const response = await parley.admin('/engines/load', { name: 'tiny' });
    const { status, code, message } = await errorOf(response);
    expect([status, code]).toEqual([503, 'engine_unavailable']);
    expect(message).toContain('the weights are missing');
  });

  it('shows its state, memory and last use to administrators and in metrics', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'parley-process-'));
    const gate = join(folder, 'gate');
    await start({ gate });
    expect(await engineState()).toEqual({ state: 'stopped', memory_bytes: 0, waiting: 0, starts: 0 });
    const { rest } = await begun(await ask({ stream: true }));
    await expect
      .poll(async () => Number((await engineState())?.['memory_bytes']))
      .toBeGreaterThan(10_000_000);
    expect(await engineState()).toMatchObject({ state: 'busy', starts: 1 });
    writeFileSync(gate, '');
    await rest;
    rmSync(folder, { recursive: true });
    await expect.poll(engineState).toMatchObject({ state: 'ready', last_used_at: expect.any(String) });
    const metrics = await parley.metrics();
    expect(metrics).toMatch(/^parley_program_memory_bytes\{engine="tiny"\} [1-9]/m);
    expect(metrics).toContain('parley_program_state{engine="tiny",state="ready"} 1');
    expect(metrics).toContain('parley_program_starts_total{engine="tiny"} 1');
  });
});

describe('a reload', () => {
  it('lets a stream end on the old program, and serves others on the new one', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'parley-process-'));
    const file = join(folder, 'parley.yaml');
    const write = (options: TinyOptions) =>
      writeFileSync(
        file,
        JSON.stringify({ engines: { tiny: tinyEngine(options) }, models: [tinyModel('tiny')] }),
      );
    const gate = join(folder, 'gate');
    write({ gate });
    parley = await startParley({ file });
    const response = await ask({ stream: true });
    const { rest } = await begun(response);
    const old = running();
    write({ everyMs: 1 });
    const overrides = {
      dataDir: parley.dataDir,
      server: { port: 0 },
      log: { level: 'silent' },
      limits: { failedKeysPerMinuteMax: 0 },
    };
    await parley.app.reload(loadConfig({ env: {}, file, overrides }));
    expect((await ask()).status).toBe(200);
    expect(running().length).toBeGreaterThan(old.length);
    writeFileSync(gate, '');
    expect(await rest).toContain('[DONE]');
    await expect.poll(() => running().filter((pid) => old.includes(pid))).toEqual([]);
    expect((await ask()).status).toBe(200);
    rmSync(folder, { recursive: true });
  });
});
