/** The files under examples are valid, start without their servers, and fit the responses of those servers. */
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Config, loadConfig } from '../../src/config/config.ts';
import { missingHearing } from '../../src/media/hearing-files.ts';
import { wavFile } from '../support/audio-files.ts';
import { completion, readEvents } from '../support/chat-answers.ts';
import { servers, wav } from '../support/example-servers.ts';
import type { ModelList } from '../support/model-list.ts';
import { errorOf, type Parley, startParley } from '../support/parley.ts';
import { scratchPath } from '../support/scratch-path.ts';
import { type ScriptedUpstream, startScriptedUpstream } from '../support/scripted-upstream.ts';
import { json } from '../support/upstream-answers.ts';

const examples = new URL('../../examples/', import.meta.url).pathname;
const files = readdirSync(examples).filter((file) => file.endsWith('.yaml'));
const names = files.map((file) => file.replace('.yaml', ''));

const folder = scratchPath('examples');
const keyFile = join(folder, 'llama.key');
writeFileSync(keyFile, 'sk-of-the-upstream\n');

/** The variables of API keys in the text. */
function keysIn(text: string): Record<string, string> {
  return Object.fromEntries([...text.matchAll(/apiKeyEnv: (\w+)/g)].map(([, name = '']) => [name, 'sk-x']));
}

function load(name: string): Config {
  const file = join(examples, `${name}.yaml`);
  const before = process.cwd();
  process.chdir(folder);
  try {
    return loadConfig({ env: keysIn(readFileSync(file, 'utf8')), file });
  } finally {
    process.chdir(before);
  }
}

/** An example with all upstreams at one URL, and a key in a file. */
function moved(name: string, baseUrl: string): string {
  const file = join(folder, `${name}.yaml`);
  const { host } = new URL(baseUrl);
  const text = readFileSync(join(examples, `${name}.yaml`), 'utf8')
    .replaceAll(/^( +)baseUrl: .*$/gm, `$1baseUrl: ${baseUrl}`)
    .replaceAll(/^( +)address: .*\n +tls: true$/gm, `$1address: ${host}`)
    .replaceAll(/apiKeyEnv: .*/g, `apiKeyFile: ${keyFile}`)
    .replaceAll(/apiKeyFile: llama.key/g, `apiKeyFile: ${keyFile}`);
  writeFileSync(file, text);
  return file;
}

const messages = [{ role: 'user', content: 'Good morning.' }];

function modelOf(
  { models }: Config,
  type: Config['models'][number]['type'],
): Config['models'][number] | undefined {
  return models.find((model) => model.type === type);
}

/** Whether the engine of a model is another server. */
function isElsewhere({ engines }: Config, { engine }: Config['models'][number]): boolean {
  return [engine].flat().every((name) => engines[name]?.kind !== 'builtin');
}

function transcribe(parley: Parley, format: string): Promise<Response> {
  const body = new FormData();
  body.set('file', new Blob([new Uint8Array(wavFile(new Int16Array(16_000)))]), 'a.wav');
  body.set('response_format', format);
  return parley.call('/audio/transcriptions', { method: 'POST', body });
}

const calls = {
  chat: (parley: Parley, model: string) => parley.postJson('/chat/completions', { model, messages }),
  speech: (parley: Parley, model: string) =>
    parley.postJson('/audio/speech', { model, input: 'Good morning.', response_format: 'wav' }),
  transcription: (parley: Parley) => transcribe(parley, 'json'),
};

describe.each(names)('examples/%s.yaml', (name) => {
  it('is valid, complete, and names the schema for editors', () => {
    const text = readFileSync(join(examples, `${name}.yaml`), 'utf8');
    expect(load(name).models.length).toBeGreaterThan(0);
    expect(text.split('\n')[0]).toBe('# yaml-language-server: $schema=../parley.schema.json');
    expect(text).toMatch(/^# Checked against /m);
  });

  it('starts without its servers, and answers that their models are unavailable', async () => {
    const config = load(name);
    const parley = await startParley({ file: moved(name, 'http://127.0.0.1:1/v1') });
    try {
      for (const type of ['chat', 'speech', 'transcription'] as const) {
        const model = modelOf(config, type);
        if (model === undefined || !isElsewhere(config, model)) continue;
        const response = await calls[type](parley, model.id);
        const { status, code } = await errorOf(response);
        expect([type, status, code]).toEqual(
          status === 503 ? [type, 503, 'engine_unavailable'] : [type, 502, 'upstream_error'],
        );
      }
    } finally {
      await parley.close();
    }
  });
});

type ServerName = keyof typeof servers;
const serverNames = Object.keys(servers) as ServerName[];

/** The servers that serve an operation in their example, with the model. */
function serving(type: Config['models'][number]['type']): (readonly [ServerName, string])[] {
  return serverNames.flatMap((name) => {
    const config = load(name);
    const model = modelOf(config, type);
    return model && isElsewhere(config, model) ? [[name, model.id] as const] : [];
  });
}

describe('before the servers, each with its own responses', () => {
  const running = new Map<ServerName, { upstream: ScriptedUpstream; parley: Parley }>();
  const behind = (name: ServerName) => {
    const found = running.get(name);
    if (found === undefined) throw new Error(`${name} is not running`);
    return found;
  };

  beforeAll(async () => {
    for (const name of serverNames) {
      const upstream = await startScriptedUpstream();
      servers[name](upstream);
      running.set(name, { upstream, parley: await startParley({ file: moved(name, upstream.baseUrl) }) });
    }
  });
  afterAll(async () => {
    for (const { upstream, parley } of running.values()) {
      await parley.close();
      await upstream.stop();
    }
  });

  it.each(serving('chat'))('chat of %s streams, with the reported usage', async (name, model) => {
    const { parley } = behind(name);
    const response = await parley.postJson('/chat/completions', { model, messages, stream: true });
    const { events, isDone, text } = await readEvents(response);
    expect([response.status, isDone, text]).toEqual([200, true, 'Good morning.']);
    const usage = { prompt_tokens: 11, completion_tokens: 2, total_tokens: 13 };
    expect(events.at(-1)).toMatchObject({ model, usage });
    const record = await parley.recordOf(response);
    expect(record).toMatchObject({ state: 'ok', tokens: { source: 'reported', totalTokens: 13 } });
    // Other members of the usage chunk are part of the answer too.
    if (name === 'llama-cpp') expect(events.at(-1)).toHaveProperty('timings.predicted_per_second');
    if (name === 'vllm') expect(JSON.stringify(events)).toContain('"reasoning":"Hm."');
  });

  it.each(serving('speech'))('speech of %s has voices and is relayed', async (name, model) => {
    const { parley, upstream } = behind(name);
    const entry = await speechEntry(parley);
    expect(entry).toMatchObject({ id: model, voices: expect.arrayContaining([entry?.defaultVoice]) });
    if (name === 'speaches') {
      expect(entry?.voiceDetails).toContainEqual({ id: 'bf_alice', language: 'en-GB' });
    }
    const response = await calls.speech(parley, model);
    expect([response.status, response.headers.get('content-type')]).toEqual([200, 'audio/wav']);
    expect(Buffer.from(await response.arrayBuffer())).toEqual(wav);
    const asked = upstream.requests.find(({ path }) => path === '/audio/speech');
    expect(Object.keys(asked?.json).sort()).toEqual(['input', 'model', 'response_format', 'voice']);
  });

  it.each(serving('transcription'))(
    'transcription of %s has the formats that the server supports',
    async (name) => {
      const { parley } = behind(name);
      const response = await transcribe(parley, 'verbose_json');
      expect(response.status).toBe(200);
      expect(await response.json()).toMatchObject({ text: 'Good morning.', duration: 1 });
      // llama.cpp has no timestamps.
      expect((await transcribe(parley, 'srt')).status).toBe(name === 'llama-cpp' ? 400 : 200);
    },
  );
});

/** The speech model in the catalog, once its voices are known. */
async function speechEntry(parley: Parley) {
  const deadline = Date.now() + 120_000;
  for (;;) {
    const { data } = (await (await parley.call('/models?type=speech')).json()) as ModelList;
    if (data.length > 0) return data[0];
    if (Date.now() > deadline) throw new Error('the speech model never became available');
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

describe('vllm.yaml', () => {
  it('continues with one machine if the other is gone', async () => {
    const upstream = await startScriptedUpstream();
    servers.vllm(upstream);
    upstream.answer('/chat/completions', json(completion('Good morning.')));
    const file = moved('vllm', upstream.baseUrl);
    // Stops only the first of the two machines.
    writeFileSync(file, readFileSync(file, 'utf8').replace(/baseUrl: .*/, 'baseUrl: http://127.0.0.1:1/v1'));
    const parley = await startParley({ file });
    try {
      for (let turn = 0; turn < 12; turn++) {
        const response = await calls.chat(parley, 'qwen3-8b');
        expect([turn, response.status]).toEqual([turn, 200]);
        expect((await parley.recordOf(response)).state).toBe('ok');
      }
    } finally {
      await parley.close();
      await upstream.stop();
    }
  });
});

describe('fixed-names.yaml', () => {
  it('answers to the names that clients have built in', async () => {
    const parley = await startParley({ file: join(examples, 'fixed-names.yaml') });
    try {
      const { data } = (await (await parley.call('/models?type=speech')).json()) as ModelList;
      expect(data.map(({ id }: { id: string }) => id)).toEqual(['tts-1', 'tts-1-hd', 'gpt-4o-mini-tts']);
      const body = { model: 'tts-1', voice: 'nova', input: 'Good morning.', response_format: 'wav' };
      const response = await parley.postJson('/audio/speech', body);
      expect(response.status).toBe(200);
      expect((await response.arrayBuffer()).byteLength).toBeGreaterThan(10_000);
      const chatted = await calls.chat(parley, 'gpt-4o-mini');
      expect(chatted.status).toBe(200);
    } finally {
      await parley.close();
    }
  });
});

describe('edge.yaml', () => {
  const missing = missingHearing();

  it('speaks by itself; the gateway chats and transcribes', async () => {
    const file = join(folder, 'gateway.yaml');
    writeFileSync(
      file,
      `models:
  - {id: whisper, type: transcription, engine: builtin}
  - {id: qwen3-8b, type: chat, engine: builtin, price: {input: 1, output: 1}}
`,
    );
    const gateway = await startParley({ file });
    writeFileSync(keyFile, gateway.apiKey);
    const edge = await startParley({ file: moved('edge', gateway.baseUrl) });
    try {
      const ids = async (): Promise<string[]> => {
        const { data } = (await (await edge.call('/models')).json()) as ModelList;
        return data.map(({ id }: { id: string }) => id);
      };
      expect(await ids()).toContain('flite');
      const chatted = await calls.chat(edge, 'assistant');
      expect(chatted.status).toBe(200);
      expect(await chatted.json()).toMatchObject({ model: 'assistant' });
      expect((await calls.speech(edge, 'flite')).status).toBe(200);
      if (missing === undefined) expect((await calls.transcription(edge)).status).toBe(200);
      else process.stdout.write(`the gateway's transcription was not tried: ${missing}\n`);
    } finally {
      await edge.close();
      await gateway.close();
      writeFileSync(keyFile, 'sk-of-the-upstream\n');
    }
  });
});
