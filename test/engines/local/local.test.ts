/** Engines of the kind `local`, with the tiny server in the place of llama-server. */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, afterEach, beforeEach, describe, expect, it } from 'vitest';
import { loadConfig } from '../../../src/config/config.ts';
import { question } from '../../support/chat-answers.ts';
import { scratchFolder } from '../../support/command-line.ts';
import { storeModel } from '../../support/local-models.ts';
import { errorOf, type Parley, startParley } from '../../support/parley.ts';
import { tinyGguf, tinyMetadata } from '../../support/tiny-gguf.ts';
import { processesWith, tinyCommand } from '../../support/tiny-program.ts';

const folder = scratchFolder();
const llamaServer = folder.file('llama-server');
const [node = '', server = ''] = tinyCommand();
// Its arguments begin with --host and the socket.
writeFileSync(llamaServer, `#!/bin/sh\nexec ${node} ${server} "$2"\n`, { mode: 0o755 });

interface Model {
  readonly id: string;
  readonly [setting: string]: unknown;
}
interface Answer {
  readonly choices: readonly { readonly message: { readonly content: string } }[];
}
let parley: Parley;

function write(models: readonly Model[]): void {
  const price = { input: 1, output: 1 };
  const settings = {
    programs: { llamaServer },
    engines: { local: { kind: 'local' } },
    models: models.map((model) => ({ type: 'chat', engine: 'local', price, ...model })),
  };
  writeFileSync(folder.file('parley.yaml'), JSON.stringify(settings));
}

/** The server without any model on its machine. */
async function start(models: readonly Model[]): Promise<void> {
  write(models);
  parley = await startParley({ file: folder.file('parley.yaml') });
}

function reload(): Promise<void> {
  const overrides = {
    dataDir: parley.dataDir,
    server: { port: 0 },
    log: { level: 'silent' },
    limits: { failedKeysPerMinuteMax: 0 },
  };
  return parley.app.reload(loadConfig({ env: {}, file: folder.file('parley.yaml'), overrides }));
}

async function startWith(models: readonly Model[], stored: Readonly<Record<string, object>>) {
  await start(models);
  for (const [id, more] of Object.entries(stored)) {
    storeModel(parley.dataDir, id, Buffer.alloc(2_000_000), more);
  }
  await reload();
}

const ask = (model: string, body: object = {}) =>
  parley.postJson('/chat/completions', { ...question, model, max_tokens: 2, ...body });
const serverState = async () => {
  const response = await parley.admin('/server');
  return (await response.json()) as { engines: { name: string }[]; models: object[] };
};
const engineState = async (name: string) =>
  (await serverState()).engines.find((engine) => engine.name === name);
const diagnosed = async () => {
  const { diagnostics } = (await (await parley.admin('/server/diagnose', {})).json()) as {
    diagnostics: { area: string; subject: string; state: string; found: string }[];
  };
  return diagnostics.filter(({ area }) => area === 'engine local/small');
};
const running = () => processesWith(join(parley.dataDir, 'sockets'));

afterEach(() => parley.close());
afterAll(() => folder.remove());

describe('a model that is not on the machine', () => {
  beforeEach(() => start([{ id: 'small' }]));

  it('is not listed, and says what is missing', async () => {
    expect(await (await parley.call('/models')).json()).toMatchObject({ data: [] });
    const { status, code, message } = await errorOf(await ask('small'));
    expect([status, code]).toEqual([503, 'engine_unavailable']);
    expect(message).toContain('There is no local model small.');
    expect(await serverState()).toMatchObject({
      engines: [{ name: 'local/small', kind: 'local', up: false }],
      models: [{ id: 'small', engines: ['local/small'], available: false }],
    });
  });

  it('is diagnosed, and so are its program, files and memory when it is there', async () => {
    expect(await diagnosed()).toMatchObject([
      {
        state: 'problem',
        subject: 'model',
        found: expect.stringContaining('There is no local model small.'),
      },
    ]);
    const isNoTemplate = ([name]: readonly [string, Buffer]) => name !== 'tokenizer.chat_template';
    storeModel(parley.dataDir, 'small', tinyGguf(1, tinyMetadata.filter(isNoTemplate)));
    expect(await diagnosed()).toMatchObject([
      { state: 'problem', subject: 'files', found: expect.stringContaining('small has no chat template') },
    ]);
    storeModel(parley.dataDir, 'small', tinyGguf(1));
    const found = (await diagnosed()).map(({ state, subject }) => `${state} ${subject}`);
    expect(found).toEqual(['ok files', 'ok command', 'ok memory']);
  });

  it('is served after a reload when it is there', async () => {
    storeModel(parley.dataDir, 'small', Buffer.alloc(2_000_000));
    await reload();
    expect(running()).toEqual([]);
    expect(await (await ask('small')).json()).toMatchObject({ usage: { prompt_tokens: 7 } });
    expect(await engineState('local/small')).toMatchObject({
      kind: 'local',
      up: true,
      file_bytes: 2_000_000,
      program: { starts: 1 },
    });
  });
});

describe('a model of a local engine', () => {
  it('may have another id in the catalog, and shares its program with other models', async () => {
    await startWith(
      [
        { id: 'fast', model: 'small' },
        { id: 'cheap', model: 'small' },
      ],
      { small: {} },
    );
    for (const id of ['fast', 'cheap']) expect((await ask(id)).status).toBe(200);
    expect((await serverState()).engines).toMatchObject([{ name: 'local/small', program: { starts: 1 } }]);
  });

  it('has the parameters of its manifest where a request has none', async () => {
    const defaults = { temperature: 0.2, repeat_penalty: 1.1 };
    await startWith([{ id: 'small', outputTokensMax: 100 }], { small: { defaults } });
    const sentFor = async (body: object) => {
      const { choices } = (await (await ask('small', { ...body, user: 'mirror' })).json()) as Answer;
      return JSON.parse(choices[0]?.message.content ?? '');
    };
    expect(await sentFor({})).toMatchObject({ temperature: 0.2, repeat_penalty: 1.1, max_tokens: 2 });
    expect(await sentFor({ temperature: 0 })).toMatchObject({ temperature: 0, repeat_penalty: 1.1 });
  });

  it('has the longest answer of its manifest, or that of the configuration', async () => {
    const models = [{ id: 'small' }, { id: 'chosen', model: 'small', outputTokensMax: 50 }];
    await startWith(models, { small: { defaults: { max_tokens: 7 } } });
    const { data } = (await (await parley.call('/models')).json()) as {
      data: { max_output_tokens: number }[];
    };
    expect(data.map(({ max_output_tokens: tokens }) => tokens)).toEqual([7, 50]);
    const sentFor = async (id: string) => {
      const { choices } = (await (await ask(id, { user: 'mirror', max_tokens: undefined })).json()) as Answer;
      return JSON.parse(choices[0]?.message.content ?? '');
    };
    expect(await Promise.all(['small', 'chosen'].map(sentFor))).toMatchObject([
      { max_tokens: 7 },
      { max_tokens: 50 },
    ]);
  });

  it('has the context of its manifest, at most 4096 tokens, or that of the configuration', async () => {
    const models = [{ id: 'short' }, { id: 'long' }, { id: 'chosen', contextTokens: 8192 }];
    const stored = { short: { contextTokens: 512 }, long: { contextTokens: 32_768 }, chosen: {} };
    await startWith(models, stored);
    const { data } = (await (await parley.call('/models')).json()) as { data: { context_window: number }[] };
    expect(data.map(({ context_window: tokens }) => tokens)).toEqual([512, 4096, 8192]);
  });

  it.each([
    ['a longer context than it has', { contextTokens: 4096 }, 'has a context of 512 tokens'],
    ['another type', { type: 'transcription', price: undefined }, 'small is for chat'],
  ])('is refused %s', async (_, settings, reason) => {
    await startWith([{ id: 'mine', model: 'small', ...settings }], { small: { contextTokens: 512 } });
    expect(await serverState()).toMatchObject({
      models: [{ available: false, reason: expect.stringContaining(reason) }],
    });
  });

  it('is not started with weights of another content', async () => {
    await startWith([{ id: 'small' }], { small: {} });
    const file = join(parley.dataDir, 'models/files/small/model.gguf');
    const weights = readFileSync(file);
    writeFileSync(file, Buffer.alloc(weights.length, 1));
    const { status, message } = await errorOf(await ask('small'));
    expect(status).toBe(503);
    expect(message).toContain('model.gguf of the model small has another content than its manifest says.');
    expect(running()).toEqual([]);
    writeFileSync(file, weights);
    await expect.poll(async () => (await ask('small')).status).toBe(200);
  });

  it('is loaded and unloaded by hand', async () => {
    await startWith([{ id: 'small' }], { small: {} });
    const byHand = async (verb: string) => {
      const response = await parley.admin(`/engines/${verb}`, { name: 'local/small' });
      return response.json();
    };
    expect(await byHand('load')).toMatchObject({ program: { state: 'ready' } });
    expect(running()).not.toEqual([]);
    await byHand('unload');
    await expect.poll(running).toEqual([]);
  });

  it('keeps running while another model is added', async () => {
    await startWith([{ id: 'small' }], { small: {} });
    await (await ask('small')).arrayBuffer();
    const before = running();
    storeModel(parley.dataDir, 'other', Buffer.alloc(1_000));
    write([{ id: 'small' }, { id: 'other' }]);
    await reload();
    expect((await ask('other')).status).toBe(200);
    expect(running()).toEqual(expect.arrayContaining(before));
  });
});
