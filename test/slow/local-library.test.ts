/** Chat with llama.cpp's library, which npm brings, and a tiny model of random weights. */
import { cpSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { loadConfig } from '../../src/config/config.ts';
import { readEvents } from '../support/chat-answers.ts';
import { parley as command, scratchFolder } from '../support/command-line.ts';
import { installRuntime } from '../support/installed-runtime.ts';
import { storeModel } from '../support/local-models.ts';
import { errorOf, type Parley, startParley } from '../support/parley.ts';
import { tinyGguf, tinyTokens } from '../support/tiny-gguf.ts';
import { processesWith } from '../support/tiny-program.ts';

/** The answer has all tokens that it may have. */
const endless = { [tinyTokens.end]: -100 };
const folder = scratchFolder();
afterAll(() => folder.remove());
const { missing, runtimes } = await installRuntime(folder, ['runtimes', 'install', 'llama']);

interface Answer {
  readonly choices: readonly [
    { readonly finish_reason: string; readonly message: { readonly content: string } },
  ];
  readonly usage: { readonly prompt_tokens: number; readonly completion_tokens: number };
}

describe.skipIf(missing)(`chat with llama.cpp's library${missing ? ` (${missing})` : ''}`, () => {
  const file = folder.file('parley.yaml');
  let server: Parley;
  beforeAll(async () => {
    const models = [
      { id: 'tiny', type: 'chat', engine: 'local', price: { input: 1, output: 1 }, contextTokens: 600 },
    ];
    writeFileSync(file, JSON.stringify({ engines: { local: { kind: 'local', threads: 1 } }, models }));
    server = await startParley({ file });
    cpSync(runtimes, join(server.dataDir, 'runtimes'), { recursive: true });
    storeModel(server.dataDir, 'tiny', tinyGguf(1), { contextTokens: 2048 });
    const limits = { failedKeysPerMinuteMax: 0 };
    const overrides = { dataDir: server.dataDir, server: { port: 0 }, log: { level: 'silent' }, limits };
    await server.app.reload(loadConfig({ env: {}, file, overrides }));
  });
  afterAll(() => server.close());

  const messages = [{ role: 'user', content: 'Tell me about the weather in Oslo.' }];
  const post = (body: object, init: RequestInit = {}) =>
    server.postJson('/chat/completions', { model: 'tiny', messages, max_tokens: 12, seed: 7, ...body }, init);
  const answerTo = async (body: object = {}) => {
    const response = await post(body);
    expect(response.status).toBe(200);
    return (await response.json()) as Answer;
  };
  const running = () => processesWith(join(server.dataDir, 'sockets'));
  /** Ticks of CPU time so far. */
  const ticks = () => {
    const [pid] = running();
    const [, ...fields] = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ');
    const [, , , , , , , , , , , user, system] = fields.join(') ').split(' ');
    return Number(user) + Number(system);
  };

  it('counts the tokens of the template, whole and streamed, and charges them', async () => {
    expect(running()).toEqual([]);
    const response = await post({});
    const { usage, choices } = (await response.json()) as Answer;
    expect(usage.prompt_tokens).toBeGreaterThan(messages[0]?.content.length ?? 0);
    expect([usage.completion_tokens, choices[0].finish_reason]).toEqual([12, 'length']);
    const cost = BigInt(usage.prompt_tokens + 12) * 1_000n;
    expect(await server.recordOf(response)).toMatchObject({ state: 'ok', cost });
    const streamed = await post({ stream: true, stream_options: { include_usage: true } });
    const { text, events, isDone } = await readEvents(streamed);
    expect([text, isDone]).toEqual([choices[0].message.content, true]);
    expect(events.at(-1)).toMatchObject({ usage: { ...usage } });
    expect(await server.recordOf(streamed)).toMatchObject({ state: 'ok', cost });
  });

  it('answers several clients at once as it answers one', async () => {
    const alone = await answerTo({ max_tokens: 60 });
    const answers = await Promise.all([1, 2, 3, 4].map(() => answerTo({ max_tokens: 60 })));
    for (const { choices, usage } of answers)
      expect({ choices, usage }).toEqual({ choices: alone.choices, usage: alone.usage });
    const [other] = await Promise.all([answerTo({ seed: 8, max_tokens: 60 }), answerTo({ max_tokens: 60 })]);
    expect(other.choices[0].message.content).not.toBe(alone.choices[0].message.content);
  });

  it('ends before a text that the client names', async () => {
    const whole = await answerTo({ max_tokens: 40 });
    const { content } = whole.choices[0].message;
    const stop = content.slice(10, 13);
    const { choices, usage } = await answerTo({ max_tokens: 40, stop: [stop, 'never written'] });
    expect(choices[0]).toMatchObject({
      finish_reason: 'stop',
      message: { content: content.slice(0, content.indexOf(stop)) },
    });
    expect(usage.completion_tokens).toBeLessThan(whole.usage.completion_tokens);
  });

  it('fills the context and no more', async () => {
    const { choices, usage } = await answerTo({ max_tokens: 1_000, logit_bias: endless });
    const { prompt_tokens: prompt, completion_tokens: completion } = usage;
    // Parley keeps room for tokens that it counts in another way.
    expect(prompt + completion).toBeGreaterThan(550);
    expect(prompt + completion).toBeLessThanOrEqual(600);
    expect(choices[0].finish_reason).toBe('length');
    const long = [{ role: 'user', content: 'word '.repeat(200) }];
    expect(await errorOf(await post({ messages: long }))).toMatchObject({
      status: 400,
      code: 'context_length_exceeded',
    });
  });

  it.each([
    ['tools', [{ type: 'function', function: { name: 'weather', parameters: { type: 'object' } } }]],
    ['response_format', { type: 'json_object' }],
    ['logprobs', true],
  ])('refuses %s, which need llama-server', async (param, value) => {
    const refused = await errorOf(await post({ [param]: value }));
    expect(refused).toMatchObject({ status: 400, code: 'invalid_parameter' });
    expect(refused.message).toContain(param);
  });

  it('uses no CPU for a client that has left', async () => {
    const left = new AbortController();
    const response = await post(
      { stream: true, max_tokens: 500, logit_bias: endless },
      { signal: left.signal },
    );
    const reader = (response.body ?? new ReadableStream()).getReader();
    await reader.read();
    left.abort();
    await reader.closed.catch(() => undefined);
    await expect.poll(() => server.recordOf(response)).toMatchObject({ state: 'cancelled' });
    await expect
      .poll(async () => {
        const before = ticks();
        await new Promise((resolve) => setTimeout(resolve, 300));
        return ticks() - before;
      })
      .toBeLessThanOrEqual(1);
    expect((await answerTo()).usage.completion_tokens).toBe(12);
  });

  it('fails the chats of a killed program, charges what was written, and starts it again', async () => {
    let response: Response;
    let rest: string;
    // On a busy machine the program may have written all tokens before it is killed.
    do {
      response = await post({
        stream: true,
        max_tokens: 500,
        logit_bias: endless,
        stream_options: { include_usage: true },
      });
      const reader = (response.body ?? new ReadableStream()).getReader();
      await reader.read();
      for (const pid of running()) process.kill(pid, 'SIGKILL');
      rest = '';
      for (let part = await reader.read(); !part.done; part = await reader.read())
        rest += Buffer.from(part.value);
      await expect.poll(running).toEqual([]);
    } while (rest.includes('[DONE]'));
    await expect.poll(() => server.recordOf(response)).toMatchObject({ state: 'failed' });
    expect((await answerTo()).usage.completion_tokens).toBe(12);
  });

  it('is loaded by `runtimes verify` and `doctor`', async () => {
    const options = { cwd: folder.path, env: { PARLEY_DATA_DIR: server.dataDir } };
    expect(await command(['runtimes', 'verify', 'llama'], options)).toMatchObject({ code: 0 });
    expect((await command(['doctor'], options)).stdout).toContain('It loads tiny.');
  });
});
