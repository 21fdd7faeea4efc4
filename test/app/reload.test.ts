/** A running server applies a new configuration completely or not at all. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { checkReload, loadConfig } from '../../src/config/config.ts';
import { newKeySecret } from '../../src/core/values/key-secret.ts';
import { chunk, chunks, completion, question, readEvents } from '../support/chat-answers.ts';
import { type Parley, startParley } from '../support/parley.ts';
import { scratchPath } from '../support/scratch-path.ts';
import { type ScriptedUpstream, startScriptedUpstream } from '../support/scripted-upstream.ts';
import { events, json } from '../support/upstream-answers.ts';

const path = '/chat/completions';
const folder = scratchPath('reload');
const file = join(folder, 'parley.yaml');

describe('a reload', () => {
  let one: ScriptedUpstream;
  let other: ScriptedUpstream;
  let parley: Parley;
  beforeAll(async () => {
    one = await startScriptedUpstream();
    other = await startScriptedUpstream();
    one.answer(path, json(completion('one')));
    other.answer(path, json(completion('other')));
  });
  afterAll(async () => {
    await one.stop();
    await other.stop();
  });

  const model = (price: number) => ({
    id: 'served',
    type: 'chat',
    contextTokens: 4096,
    engine: 'upstream',
    price: { input: price, output: price },
  });
  const settings = (upstream: ScriptedUpstream, more: object = {}) => ({
    engines: { upstream: { kind: 'openai', baseUrl: upstream.baseUrl }, builtin: { kind: 'builtin' } },
    models: [model(1)],
    ...more,
  });
  /** The initial configuration with changes. Port and data folder stay. */
  const load = (written: object) => {
    writeFileSync(file, JSON.stringify(written));
    const overrides = {
      dataDir: parley.dataDir,
      server: { port: 0 },
      limits: { failedKeysPerMinuteMax: 0 },
      log: { level: 'silent' },
    };
    return loadConfig({ env: {}, file, overrides });
  };
  const ask = async () => {
    const response = await parley.postJson(path, question);
    const body = (await response.json()) as {
      choices?: [{ message: { content: string } }];
      error?: { code: string };
    };
    return { response, said: body.choices?.[0].message.content ?? body.error?.code };
  };

  beforeEach(async () => {
    writeFileSync(file, JSON.stringify(settings(one)));
    parley = await startParley({ file });
  });
  afterEach(() => parley.close());

  it('replaces engines, models and prices', async () => {
    expect((await ask()).said).toBe('one');
    await parley.app.reload(load(settings(other, { models: [model(2)] })));
    const { said, response } = await ask();
    expect(said).toBe('other');
    expect(await parley.recordOf(response)).toMatchObject({ cost: 26n * 1_000n });
    await parley.app.reload(load(settings(other, { models: [{ ...model(2), id: 'renamed' }] })));
    expect((await ask()).said).toBe('unknown_model');
  });

  it('disables a model or an engine, and enables it again', async () => {
    const listed = async () => {
      const { data } = (await (await parley.call('/models')).json()) as { data: { id: string }[] };
      return data.map(({ id }) => id);
    };
    const failuresOf = async (engine: string) => {
      const { engines } = (await (await parley.admin('/server')).json()) as {
        engines: { name: string; requests: { failed: number } }[];
      };
      return engines.find(({ name }) => name === engine)?.requests.failed;
    };
    const [enabled] = settings(one).models;
    const engine = { kind: 'openai', baseUrl: one.baseUrl, disabled: true };
    for (const off of [
      settings(one, { models: [{ ...enabled, disabled: true }] }),
      settings(one, { engines: { upstream: engine } }),
    ]) {
      await parley.app.reload(load(off));
      expect([await listed(), (await ask()).said]).toEqual([[], 'engine_unavailable']);
      expect(await failuresOf('upstream')).toBe(0);
      await parley.app.reload(load(settings(one)));
      expect([await listed(), (await ask()).said]).toEqual([['served'], 'one']);
    }
    const engines = { upstream: engine, second: { kind: 'openai', baseUrl: other.baseUrl } };
    await parley.app.reload(
      load(settings(one, { engines, models: [{ ...enabled, engine: ['upstream', 'second'] }] })),
    );
    expect((await ask()).said).toBe('other');
  });

  it('leaves a model what its other engine offers, when one of the two is disabled', async () => {
    const engine = { kind: 'anthropic', baseUrl: one.baseUrl };
    const engines = { upstream: engine, second: { ...engine, disabled: true } };
    const models = [{ ...model(1), engine: ['second', 'upstream'] }];
    await parley.app.reload(load(settings(one, { engines, models })));
    const text = { type: 'text', text: 'Hello', cache_control: { type: 'ephemeral' } };
    const body = { model: 'served', max_tokens: 9, messages: [{ role: 'user', content: [text] }] };
    const usage = { input_tokens: 1, output_tokens: 1 };
    one.answer('/messages', json({ role: 'assistant', content: [], stop_reason: 'end_turn', usage }));
    one.answer('/messages/count_tokens', json({ input_tokens: 77 }));
    expect((await parley.postJson('/messages', body)).status).toBe(200);
    expect(one.requests.at(-1)?.json).toMatchObject({ messages: body.messages });
    const counted = await parley.postJson('/messages/count_tokens', body);
    expect(await counted.json()).toEqual({ input_tokens: 77 });
  });

  it('replaces the rules of fair use', async () => {
    const limitOf = async () =>
      ((await (await parley.call('/account')).json()) as { fair_use: { limit_units: number } }).fair_use
        .limit_units;
    expect(await limitOf()).toBe(300_000);
    await parley.app.reload(load(settings(one, { fairUse: { trialUnitsPerMonth: 77 } })));
    expect(await limitOf()).toBe(77);
  });

  it('lets running requests end on their engine, at its price', async () => {
    const said = chunks('still ', 'here');
    one.answer(path, events(said, { everyMs: 200 }));
    const response = await parley.postJson(path, { ...question, stream: true });
    await parley.app.reload(load(settings(other, { models: [model(1000)] })));
    const { text, isDone } = await readEvents(response);
    expect([text, isDone]).toEqual(['still here', true]);
    expect(await parley.recordOf(response)).toMatchObject({ state: 'ok', cost: 13n * 1_000n });
    expect(chunk({})).toBeDefined();
    one.answer(path, json(completion('one')));
    expect((await ask()).said).toBe('other');
  });

  it('keeps an engine with unchanged settings, and its connections', async () => {
    await ask();
    const { connections } = one;
    await parley.app.reload(load(settings(one, { models: [model(3)] })));
    await ask();
    expect(one.connections).toBe(connections);
  });

  it.each([
    ['a port', { server: { port: 0, drainMs: 1 } }, 'server'],
    ['a limit', { limits: { chatBodyBytesMax: 2000 } }, 'limits'],
  ])('changes nothing if %s differs too', async (_, more, section) => {
    await expect(parley.app.reload(load(settings(other, more)))).rejects.toThrow(
      new RegExp(`\`${section}\` cannot change while the server runs`),
    );
    expect((await ask()).said).toBe('one');
  });

  it('refuses another admin key, which is read at the start', () => {
    const withKey = () => loadConfig({ env: { PARLEY_ADMIN_KEY: newKeySecret('admin') } });
    const [running, next] = [withKey(), withKey()];
    expect(() => checkReload(running, running)).not.toThrow();
    expect(() => checkReload(running, next)).toThrow('`adminKey` cannot change while the server runs');
  });

  it('refuses a faulty configuration, such as a chat model without a price', () => {
    const { price: _, ...unpriced } = model(1);
    expect(() => load(settings(one, { models: [unpriced] }))).toThrow('has no price');
  });
});
