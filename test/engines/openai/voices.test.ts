/** The voices of an upstream's models: from its list, in every form that servers send, or from the configuration. */
import { afterAll, afterEach, describe, expect, it } from 'vitest';
import type { Log } from '../../../src/core/values/log.ts';
import { type BehindOptions, startBehind } from '../../support/behind-upstream.ts';
import { errorOf, type Parley } from '../../support/parley.ts';
import {
  type Answer,
  type ScriptedUpstream,
  startScriptedUpstream,
} from '../../support/scripted-upstream.ts';
import { json, silence, whole } from '../../support/upstream-answers.ts';

interface SpeechModel {
  readonly id: string;
  readonly voices: readonly string[];
  readonly voiceDetails: readonly { id: string; language: string }[];
  readonly defaultVoice: string;
}

const opened: { close(): Promise<void> }[] = [];
afterEach(async () => {
  for (const one of opened.splice(0).reverse()) await one.close();
});

async function startUpstream(): Promise<ScriptedUpstream> {
  const upstream = await startScriptedUpstream();
  opened.push({ close: () => upstream.stop() });
  return upstream;
}

async function start(baseUrl: string, options: BehindOptions = {}): Promise<Parley> {
  const models = [{ id: 'speaker', type: 'speech', engine: 'upstream' }];
  const engine = { voicesEveryMs: 1000, ...options.engine };
  const parley = await startBehind(baseUrl, { models, ...options, engine });
  opened.push(parley);
  return parley;
}

async function modelsOf(parley: Parley): Promise<SpeechModel[]> {
  const { data } = (await (await parley.call('/models?type=speech')).json()) as { data: SpeechModel[] };
  return data;
}
const voicesOf = async (parley: Parley) => (await modelsOf(parley))[0]?.voices;
const speak = (parley: Parley) => parley.postJson('/audio/speech', { model: 'speaker', input: 'Hello.' });
const soon = { timeout: 10_000, interval: 50 };

/** Answers by the model in the query, like servers with several speech models. */
const byModel =
  (name: string, answers: Readonly<Record<string, Answer>>): Answer =>
  (exchange) => {
    const { searchParams } = new URL(exchange.request.path, 'http://upstream');
    const answer = answers[searchParams.get(name) ?? ''] ?? whole('', { status: 404 });
    return answer(exchange);
  };

const one = [
  { id: 'anna', language: 'de-DE' },
  { id: 'bill', language: 'en-US' },
];
const untold = [
  { id: 'anna', language: 'und' },
  { id: 'bill', language: 'und' },
];

describe('the voices that an upstream lists', () => {
  const atVoices: Readonly<Record<string, [unknown, readonly object[]]>> = {
    'objects-with-names': [
      {
        voices: [
          { id: 'anna', name: 'Anna' },
          { id: 'bill', name: 'Bill', language: 'en-us' },
        ],
      },
      [untold[0] ?? {}, one[1] ?? {}],
    ],
    'names-alone': [{ voices: ['anna', 'bill'] }, untold],
    'names-alone-and-uploads': [{ voices: ['anna', 'bill'], uploaded_voices: [] }, untold],
    'a-list-of-data': [
      {
        object: 'list',
        data: [
          { id: 'anna', lang: 'de_DE' },
          { id: 'bill', locale: 'en-US' },
        ],
      },
      one,
    ],
    'a-plain-list': [['anna', 'bill', 'anna'], untold],
    'voices-of-all-models': [
      {
        voices: [
          { name: 'anna', model: 'voices-of-all-models', language: ['de-DE', 'de-AT'] },
          { name: 'else', model: 'another' },
          { name: 'bill', language: 'en_US' },
        ],
      },
      one,
    ],
    'what-cannot-be-a-voice': [
      {
        voices: [
          null,
          7,
          '',
          ' ',
          'a\nb',
          'x'.repeat(300),
          {},
          { id: 5 },
          ['x'],
          { id: 'anna', language: 'German' },
        ],
      },
      [untold[0] ?? {}],
    ],
  };
  const atModel: Readonly<Record<string, [unknown, readonly object[]]>> = {
    'org/inside': [
      { id: 'org/inside', object: 'model', voices: one.map(({ id, language }) => ({ name: id, language })) },
      one,
    ],
    parley: [{ id: 'parley', voices: ['anna', 'bill'], voiceDetails: one, defaultVoice: 'bill' }, one],
  };
  const old = 'speaches-of-old';
  const names = [...Object.keys(atVoices), ...Object.keys(atModel), old];

  it('are read in every form', async () => {
    const upstream = await startUpstream();
    const shaped = Object.entries(atVoices).map(([name, [body]]): [string, Answer] => [name, json(body)]);
    upstream.answer('/audio/voices', byModel('model', Object.fromEntries(shaped)));
    for (const [name, [body]] of Object.entries(atModel)) upstream.answer(`/models/${name}`, json(body));
    const list = one.map(({ id, language }) => ({ voice_id: id, model_id: old, language }));
    upstream.answer('/audio/speech/voices', byModel('model_id', { [old]: json(list) }));
    const models = names.map((id) => ({ id, type: 'speech', engine: 'upstream' }));
    const parley = await start(upstream.baseUrl, { models });

    await expect.poll(async () => (await modelsOf(parley)).length, soon).toBe(names.length);
    const found = Object.fromEntries((await modelsOf(parley)).map((model) => [model.id, model]));
    for (const [name, [, details]] of Object.entries({
      ...atVoices,
      ...atModel,
      [old]: [list, one] as const,
    })) {
      expect(found[name]?.voiceDetails, name).toEqual(details);
      expect(found[name]?.defaultVoice, name).toBe(name === 'parley' ? 'bill' : 'anna');
    }
  });

  it('are not read from a list of models or an HTML page', async () => {
    const upstream = await startUpstream();
    upstream.answer('/models/speaker', json({ object: 'list', data: [{ id: 'speaker', object: 'model' }] }));
    upstream.answer('/audio/voices', whole('<html>', { headers: { 'content-type': 'text/html' } }));
    upstream.answer('/audio/speech/voices', json({ voices: [] }));
    const parley = await start(upstream.baseUrl);
    await expect.poll(() => upstream.requests.length, soon).toBeGreaterThan(3);
    expect(await modelsOf(parley)).toEqual([]);
  });

  it('are requested with the configured key', async () => {
    const upstream = await startUpstream();
    upstream.answer('/audio/voices', json({ voices: ['anna'] }));
    const parley = await start(upstream.baseUrl);
    await expect.poll(() => voicesOf(parley), soon).toEqual(['anna']);
    for (const { headers } of upstream.requests) expect(headers.authorization).toMatch(/^Bearer sk-/);
  });

  it('may have other names here, with the languages from the upstream', async () => {
    const upstream = await startUpstream();
    upstream.answer('/audio/voices', json({ voices: one }));
    const voices = { alloy: 'anna', echo: 'nobody' };
    const models = [{ id: 'speaker', type: 'speech', engine: 'upstream', voices }];
    const parley = await start(upstream.baseUrl, { models });
    await expect.poll(() => voicesOf(parley), soon).toEqual(['alloy', 'echo']);
    expect((await modelsOf(parley))[0]?.voiceDetails).toEqual([
      { id: 'alloy', language: 'de-DE' },
      { id: 'echo', language: 'und' },
    ]);
  });

  it('leave the choice of the default voice to the catalog', async () => {
    const upstream = await startUpstream();
    upstream.answer('/audio/voices', json({ voices: one }));
    upstream.answer('/audio/speech', whole('audio', { headers: { 'content-type': 'audio/mpeg' } }));
    const models = [{ id: 'speaker', type: 'speech', engine: 'upstream', defaultVoice: 'bill' }];
    const parley = await start(upstream.baseUrl, { models });
    await expect.poll(async () => (await modelsOf(parley))[0]?.defaultVoice, soon).toBe('bill');
    await speak(parley);
    expect(upstream.requests.findLast(({ method }) => method === 'POST')?.json.voice).toBe('bill');
  });
});

describe('the list', () => {
  it('is read again, and stays in use while it cannot be read, which is logged once', async () => {
    const warnings: string[] = [];
    const log: Log = {
      info: () => undefined,
      warn: (_, message) => warnings.push(message),
      error: () => undefined,
    };
    const upstream = await startUpstream();
    upstream.answer('/audio/voices', json({ voices: ['anna'] }));
    const parley = await start(upstream.baseUrl, { log });
    await expect.poll(() => voicesOf(parley), soon).toEqual(['anna']);
    upstream.answer('/audio/voices', json({ voices: ['bill'] }));
    await expect.poll(() => voicesOf(parley), soon).toEqual(['bill']);

    const readings = () => upstream.requests.filter(({ path }) => path.startsWith('/audio/voices')).length;
    upstream.answer('/audio/voices', whole('', { status: 500 }));
    const before = readings();
    await expect.poll(readings, soon).toBeGreaterThan(before + 2);
    expect(await voicesOf(parley)).toEqual(['bill']);
    expect(warnings.filter((message) => message.includes('voices'))).toHaveLength(1);

    upstream.answer('/audio/voices', json({ voices: ['carl'] }));
    await expect.poll(() => voicesOf(parley), soon).toEqual(['carl']);
  });

  it('is never read twice at once, and delays neither start nor stop', async () => {
    const upstream = await startUpstream();
    upstream.answer('/models/speaker', silence);
    const parley = await start(upstream.baseUrl);
    const { status, code, message } = await errorOf(await speak(parley));
    expect({ status, code }).toEqual({ status: 503, code: 'engine_unavailable' });
    expect(message).toContain('still being read');
    await new Promise((resolve) => setTimeout(resolve, 2_500));
    expect(upstream.requests).toHaveLength(1);
    const request = upstream.requests[0];
    opened.splice(opened.indexOf(parley), 1);
    await parley.close();
    await request?.aborted;
  });

  it('may come late: a model whose upstream is down at the start is available once the upstream is up', async () => {
    const upstream = await startUpstream();
    upstream.answer('/audio/voices', json({ voices: ['anna'] }));
    upstream.answer('/audio/speech', whole('audio', { headers: { 'content-type': 'audio/mpeg' } }));
    await upstream.stop();
    const parley = await start(upstream.baseUrl);
    expect(await modelsOf(parley)).toEqual([]);
    await expect
      .poll(async () => (await errorOf(await speak(parley))).message, soon)
      .toContain('Check that it runs');
    await upstream.listen();
    await expect.poll(() => voicesOf(parley), { ...soon, timeout: 20_000 }).toEqual(['anna']);
    expect(await (await speak(parley)).text()).toBe('audio');
  }, 40_000);

  it('may be missing: then the log says where to write the voices', async () => {
    const upstream = await startUpstream();
    upstream.answer('/models/speaker', json({ id: 'speaker', object: 'model', owned_by: 'openai' }));
    const parley = await start(upstream.baseUrl);
    await expect
      .poll(async () => (await errorOf(await speak(parley))).message, soon)
      .toMatch(/lists no voices.*engines\.upstream\.voices/);
    expect(await modelsOf(parley)).toEqual([]);
  });
});

describe('voices in the configuration', () => {
  it('are used unchanged, without asking the upstream', async () => {
    const upstream = await startUpstream();
    const parley = await start(upstream.baseUrl, { engine: { voices: { alloy: 'en-US', nova: 'und' } } });
    expect((await modelsOf(parley))[0]).toMatchObject({
      voiceDetails: [
        { id: 'alloy', language: 'en-US' },
        { id: 'nova', language: 'und' },
      ],
      defaultVoice: 'alloy',
    });
    expect(upstream.requests).toEqual([]);
  });
});

afterAll(() => expect(opened).toEqual([]));
