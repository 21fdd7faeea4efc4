/** Chat with the real llama-server and a tiny model of random weights. */
import { readFileSync, truncateSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { loadConfig } from '../../src/config/config.ts';
import { readPage } from '../clients/page.ts';
import { readEvents } from '../support/chat-answers.ts';
import { parley, printed, scratchFolder, serve } from '../support/command-line.ts';
import { storeModel } from '../support/local-models.ts';
import { bearer, errorOf, type Parley, startParley } from '../support/parley.ts';
import { tinyGguf, tinyTokens } from '../support/tiny-gguf.ts';
import { processesWith } from '../support/tiny-program.ts';
import { installLlamaServer } from './clients/install-llama-server.ts';

const installed = await installLlamaServer();
const missing = 'missing' in installed ? installed.missing : undefined;
const llamaServer = 'folder' in installed ? join(installed.folder, 'llama-server') : '';
const price = { input: 1, output: 1 };

interface Answer {
  readonly choices: readonly [
    {
      readonly finish_reason: string;
      readonly message: {
        readonly content: string | null;
        readonly tool_calls?: readonly {
          readonly function: { readonly name: string; readonly arguments: string };
        }[];
      };
      readonly logprobs?: {
        readonly content: readonly { readonly logprob: number; readonly top_logprobs: unknown[] }[];
      };
    },
  ];
  readonly usage: {
    readonly prompt_tokens: number;
    readonly completion_tokens: number;
    readonly prompt_tokens_details?: { readonly cached_tokens: number };
  };
}

describe.skipIf(missing)(`docs/local-chat.md${missing ? ` (${missing})` : ''}`, () => {
  const page = readPage('../local-chat');
  const argumentsOf = (command: string) => {
    const [, plain = '', quoted] = /^parley ([^']*?)\s*(?:'(.*)')?$/.exec(page.command(command)) ?? [];
    return [...plain.split(' '), ...(quoted === undefined ? [] : [quoted])];
  };

  it('leads from an empty machine to a chat', async () => {
    const folder = scratchFolder();
    const options = { cwd: folder.path, env: { PATH: `${dirname(llamaServer)}:${process.env['PATH']}` } };
    expect(await printed(argumentsOf('runtimes'), options)).toContain(llamaServer);
    writeFileSync(folder.file('small.gguf'), tinyGguf(1));
    expect(await parley(argumentsOf('import'), options)).toMatchObject({ code: 0 });
    writeFileSync(folder.file('parley.yaml'), page.file('parley.yaml'));
    const checked = await parley(argumentsOf('doctor'), options);
    expect(checked.stdout).toContain('engine local/small');
    expect(checked.stdout).toContain(`${llamaServer} can be executed.`);

    const [command, ...flags] = argumentsOf('serve');
    expect(command).toBe('serve');
    const serving = await serve(flags, options);
    expect(await printed(argumentsOf('engines'), options)).toMatch(/^local\/small +local +stopped/m);
    expect(await parley(argumentsOf('chat'), options)).toMatchObject({ code: 0 });
    expect(await printed(argumentsOf('engines'), options)).toMatch(/^local\/small +local +(ready|busy)/m);
    await serving.close();
    folder.remove();
  });
});

describe.skipIf(missing)(`chat with llama-server${missing ? ` (${missing})` : ''}`, () => {
  const folder = scratchFolder();
  const file = folder.file('parley.yaml');
  let server: Parley;
  const reload = () => {
    const overrides = {
      dataDir: server.dataDir,
      server: { port: 0 },
      log: { level: 'silent' },
      limits: { failedKeysPerMinuteMax: 0 },
    };
    return server.app.reload(loadConfig({ env: {}, file, overrides }));
  };
  beforeAll(async () => {
    const engines = { local: { kind: 'local' }, caching: { kind: 'local', promptCache: true } };
    const models = [
      { id: 'tiny', type: 'chat', engine: 'local', price },
      { id: 'cached', type: 'chat', engine: 'caching', model: 'tiny', price },
      { id: 'broken', type: 'chat', engine: 'local', price },
    ];
    writeFileSync(file, JSON.stringify({ programs: { llamaServer }, engines, models }));
    server = await startParley({ file });
    storeModel(server.dataDir, 'tiny', tinyGguf(1), { contextTokens: 2048 });
    storeModel(server.dataDir, 'broken', tinyGguf(2));
    await reload();
  });
  afterAll(async () => {
    await server.close();
    folder.remove();
  });

  const messages = [{ role: 'user', content: 'Tell me about the weather in Oslo.' }];
  const post = (body: object, init: RequestInit = {}) =>
    server.postJson('/chat/completions', { model: 'tiny', messages, max_tokens: 12, seed: 7, ...body }, init);
  const answerTo = async (body: object, init?: RequestInit) => {
    const response = await post(body, init);
    expect(response.status).toBe(200);
    return (await response.json()) as Answer;
  };
  const running = () => processesWith(join(server.dataDir, 'sockets'));

  it('counts the tokens of the template, whole and streamed, and charges them', async () => {
    expect(running()).toEqual([]);
    const response = await post({});
    const { usage, choices } = (await response.json()) as Answer;
    const [{ content = '' } = {}] = messages;
    // Each byte is a token of this model. The template adds the roles and their marks.
    expect(usage.prompt_tokens).toBeGreaterThan(content.length);
    expect(usage.completion_tokens).toBe(12);
    expect(choices[0].finish_reason).toBe('length');
    const cost = BigInt(usage.prompt_tokens + 12) * 1_000n;
    expect(await server.recordOf(response)).toMatchObject({ state: 'ok', cost });

    const streamed = await post({ stream: true, stream_options: { include_usage: true } });
    const { text, events, isDone } = await readEvents(streamed);
    expect([text, isDone]).toEqual([choices[0].message.content, true]);
    expect(events.at(-1)).toMatchObject({
      usage: { prompt_tokens: usage.prompt_tokens, completion_tokens: 12 },
    });
  });

  it('answers in the form of a JSON schema', async () => {
    const schema = {
      type: 'object',
      properties: { weather: { enum: ['sun', 'rain'] }, isWarm: { type: 'boolean' } },
      required: ['weather', 'isWarm'],
      additionalProperties: false,
    };
    const format = { type: 'json_schema', json_schema: { name: 'report', strict: true, schema } };
    const { choices } = await answerTo({ response_format: format, max_tokens: 400 });
    expect(JSON.parse(choices[0].message.content ?? '')).toEqual({
      weather: expect.stringMatching(/^(sun|rain)$/),
      isWarm: expect.any(Boolean),
    });
  });

  it('calls a tool', async () => {
    const parameters = {
      type: 'object',
      properties: { city: { enum: ['Oslo', 'Bergen'] } },
      required: ['city'],
    };
    const tools = [{ type: 'function', function: { name: 'weather', parameters } }];
    // Random weights would write at random before the call, which only then has a fixed form.
    const { newLine, toolCall, end } = tinyTokens;
    const bias = { [newLine]: 50, [toolCall]: 50, [end]: 100 };
    const { choices } = await answerTo({
      tools,
      tool_choice: 'required',
      parallel_tool_calls: false,
      logit_bias: bias,
      max_tokens: 800,
    });
    expect(choices[0].finish_reason).toBe('tool_calls');
    const [call] = choices[0].message.tool_calls ?? [];
    expect(call?.function.name).toBe('weather');
    expect(JSON.parse(call?.function.arguments ?? '')).toEqual({
      city: expect.stringMatching(/^(Oslo|Bergen)$/),
    });
  });

  it('gives the probabilities of its tokens', async () => {
    const { choices } = await answerTo({ logprobs: true, top_logprobs: 3 });
    const tokens = choices[0].logprobs?.content ?? [];
    // Bytes that are no character have none.
    expect(tokens.length).toBeGreaterThan(0);
    for (const { logprob, top_logprobs: others } of tokens) {
      expect(logprob).toBeLessThanOrEqual(0);
      expect(others).toHaveLength(3);
    }
  });

  it('does not show an account what another has sent, whatever it asks for', async () => {
    const other = bearer(await server.newKey({ credits: '1' }));
    const cachedTokens = async (model: string, init?: RequestInit) => {
      // One call after the other gets the same slot only if the prompts are alike, so each slot has seen it.
      const body = { model, cache_prompt: true, id_slot: 0, max_tokens: 1 };
      const { usage } = await answerTo(body, init);
      return usage.prompt_tokens_details?.cached_tokens ?? 0;
    };
    await cachedTokens('tiny');
    expect(await cachedTokens('tiny', other)).toBe(0);
    await cachedTokens('cached');
    expect(await cachedTokens('cached', other)).toBeGreaterThan(0);
  });

  it('stops for a client that leaves', async () => {
    const left = new AbortController();
    const response = await post(
      { stream: true, max_tokens: 1_900, ignore_eos: true },
      { signal: left.signal },
    );
    const reader = (response.body ?? new ReadableStream()).getReader();
    await reader.read();
    left.abort();
    await reader.closed.catch(() => undefined);
    await expect.poll(() => server.recordOf(response)).toMatchObject({ state: 'cancelled' });
    expect((await answerTo({})).usage.completion_tokens).toBe(12);
  });

  it('says that a file is truncated or was exchanged, and does not load it', async () => {
    const path = join(server.dataDir, 'models/files/broken/model.gguf');
    const whole = readFileSync(path);
    writeFileSync(path, Buffer.alloc(whole.length));
    const exchanged = await errorOf(await post({ model: 'broken' }));
    expect(exchanged).toMatchObject({ status: 503, code: 'engine_unavailable' });
    expect(exchanged.message).toContain(
      'model.gguf of the model broken has another content than its manifest',
    );

    truncateSync(path, 1_000);
    await reload();
    const truncated = await errorOf(await post({ model: 'broken' }));
    expect(truncated).toMatchObject({ status: 503, code: 'engine_unavailable' });
    expect(truncated.message).toContain('model.gguf of the model broken has 1000 bytes instead of');
  });

  it('leaves no process when it is unloaded', async () => {
    await answerTo({});
    for (const name of ['local/tiny', 'caching/tiny']) {
      await server.admin('/engines/unload', { name });
    }
    await expect.poll(running).toEqual([]);
  });
});
