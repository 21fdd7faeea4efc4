import { writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { fakeTranscription, withFakes } from '../../support/fake-engines.ts';
import { bearer, errorOf, type Parley, startParley } from '../../support/parley.ts';

interface ModelEntry {
  id: string;
  object: string;
  created: number;
  owned_by: string;
  type: string;
  voices?: string[];
  voiceDetails?: { id: string; language: string }[];
  defaultVoice?: string;
  context_window?: number;
  price?: { input: string; output: string; unit: string };
}

async function modelsOf(parley: Parley, query = '', key = parley.apiKey): Promise<ModelEntry[]> {
  const response = await parley.call(`/models${query}`, bearer(key));
  expect(response.status).toBe(200);
  const body = (await response.json()) as { object: string; data: ModelEntry[] };
  expect(body.object).toBe('list');
  return body.data;
}

const ids = (models: ModelEntry[]) => models.map(({ id }) => id);

const parley = await startParley();
afterAll(() => parley.close());

describe('GET /models', () => {
  it('lists every model that the key can call, in the form that SDKs read', async () => {
    const models = await modelsOf(parley);
    expect(models.map(({ id, type }) => [id, type])).toEqual([
      ['flite', 'speech'],
      ['pocketsphinx', 'transcription'],
      ['eliza', 'chat'],
    ]);
    for (const model of models) {
      expect(model).toMatchObject({
        object: 'model',
        created: expect.any(Number),
        owned_by: expect.any(String),
      });
      // The time when the server started, not 1970.
      expect(Math.abs(Date.now() / 1000 - model.created)).toBeLessThan(3600);
    }
  });

  it('gives speech models their voices, each with its language, and the default', async () => {
    const [flite, ...others] = await modelsOf(parley, '?type=speech');
    expect(others).toEqual([]);
    expect(flite?.voices?.sort()).toEqual(['awb', 'kal', 'kal16', 'rms', 'slt']);
    expect(flite?.voiceDetails?.map(({ id }) => id).sort()).toEqual(flite?.voices);
    for (const { language } of flite?.voiceDetails ?? []) expect(language).toMatch(/^en-/);
    expect(flite?.voices).toContain(flite?.defaultVoice);
  });

  it('gives chat models their context and their price', async () => {
    const [eliza] = await modelsOf(parley, '?type=chat');
    expect(eliza).toMatchObject({
      context_window: 4096,
      context_length: 4096,
      max_model_len: 4096,
      price: { input: expect.stringMatching(/^\d/), output: expect.stringMatching(/^\d/) },
    });
    expect(eliza).not.toHaveProperty('voices');
  });

  it('gives clients of the Messages API the chat models in its shape', async () => {
    const headers = { 'x-api-key': parley.apiKey, 'anthropic-version': '2023-06-01' };
    const get = async (path: string) => (await fetch(parley.baseUrl + path, { headers })).json();
    const eliza = {
      type: 'model',
      id: 'eliza',
      display_name: 'eliza',
      created_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT.*Z$/),
      max_input_tokens: 4096,
      max_tokens: 4096,
    };
    const list = await get('/models?limit=1000');
    expect(list).toMatchObject({ data: [eliza], has_more: false, first_id: 'eliza', last_id: 'eliza' });
    expect(await get('/models/eliza')).toMatchObject(eliza);
    const { data } = (await get('/models?type=speech')) as { data: unknown };
    expect(data).toEqual([]);
    // The list of other clients is not changed by it.
    expect(ids(await modelsOf(parley))).toEqual(['flite', 'pocketsphinx', 'eliza']);
  });

  it('gives Codex the chat models as it reads them', async () => {
    const { models } = (await (await parley.call('/models?client_version=0.171.0')).json()) as {
      models: object[];
    };
    expect(models).toEqual([
      expect.objectContaining({ slug: 'eliza', display_name: 'eliza', context_window: 4096 }),
    ]);
  });

  it.each(['video', 'Speech', ''])('refuses the unknown type %j, and names the known ones', async (type) => {
    expect(await errorOf(await parley.call(`/models?type=${type}`))).toMatchObject({
      status: 400,
      code: 'invalid_parameter',
      param: 'type',
      message: '`type` must be one of speech, transcription, chat.',
    });
  });

  it('answers HEAD as it answers GET', async () => {
    const response = await parley.call('/models', { method: 'HEAD' });
    expect(response.status).toBe(200);
    expect(response.headers.get('content-type')).toBe('application/json');
  });
});

describe('the paths that clients with a choice of voices ask for', () => {
  const configured = `models:
  - {id: tts-1, type: speech, engine: builtin, voices: {alloy: slt, echo: rms}}
  - {id: whisper-1, type: transcription, engine: builtin}
  - {id: tts-2, type: speech, engine: builtin, voices: {echo: kal, sage: awb}}
`;
  const file = join(tmpdir(), `parley-voices-${process.pid}.yaml`);
  let parley: Parley;
  beforeAll(async () => {
    writeFileSync(file, configured);
    parley = await startParley({ file });
  });
  afterAll(() => parley.close());
  const get = async (path: string, key = parley.apiKey) => (await parley.call(path, bearer(key))).json();

  it('GET /audio/voices lists each voice once, with the models that have it', async () => {
    expect(await get('/audio/voices')).toEqual({
      voices: [
        { id: 'alloy', name: 'alloy', language: 'en-US', models: ['tts-1'] },
        { id: 'echo', name: 'echo', language: 'en-US', models: ['tts-1', 'tts-2'] },
        { id: 'sage', name: 'sage', language: 'en-GB', models: ['tts-2'] },
      ],
    });
  });

  it('GET /audio/voices lists the voices of one model', async () => {
    const { voices } = (await get('/audio/voices?model=tts-2')) as { voices: { id: string }[] };
    expect(voices.map(({ id }) => id)).toEqual(['echo', 'sage']);
    expect(await errorOf(await parley.call('/audio/voices?model=whisper-1'))).toMatchObject({
      status: 400,
      code: 'unknown_model',
      param: 'model',
    });
  });

  it('GET /audio/models lists the speech models, as GET /models does', async () => {
    const models = await modelsOf(parley, '?type=speech');
    expect(await get('/audio/models')).toEqual({ models });
    expect(ids(models)).toEqual(['tts-1', 'tts-2']);
  });

  it('are open to everybody if the operator says so, except to wrong keys', async () => {
    const open = await startParley({ file, settings: { voices: { access: 'open' } } });
    try {
      const bare = (path: string, init?: RequestInit) => fetch(open.baseUrl + path, init);
      const { voices } = (await (await bare('/audio/voices?model=tts-1')).json()) as { voices: unknown[] };
      expect(voices).toHaveLength(2);
      const { models } = (await (await bare('/audio/models')).json()) as { models: ModelEntry[] };
      expect(ids(models)).toEqual(['tts-1', 'tts-2']);
      for (const path of ['/models', '/models/tts-1']) expect((await bare(path)).status).toBe(401);
      expect((await bare('/audio/voices', bearer('pk_wrong'))).status).toBe(401);
      const limited = await bare('/audio/voices', bearer(await open.newKey()));
      expect(await limited.json()).toEqual({ voices: [] });
      expect(await errorOf(await bare('/audio/voices?model=x'))).toMatchObject({ code: 'unknown_model' });
    } finally {
      await open.close();
    }
  });
});

describe('GET /models with an operator’s own entries', () => {
  it('takes ids with slashes, and voices under names that clients have built in', async () => {
    const file = join(tmpdir(), `parley-${process.pid}.yaml`);
    writeFileSync(
      file,
      `models:
  - {id: tts-1, type: speech, engine: builtin, voices: {alloy: slt, echo: rms}, defaultVoice: echo}
  - {id: org/small chat, type: chat, engine: builtin, price: {input: 0, output: "0.000000001"}}
`.replace('small chat', 'small-chat'),
    );
    const parley = await startParley({ file });
    try {
      const [tts, chat] = await modelsOf(parley);
      expect(tts).toMatchObject({
        voices: ['alloy', 'echo'],
        voiceDetails: [
          { id: 'alloy', language: 'en-US' },
          { id: 'echo', language: 'en-US' },
        ],
        defaultVoice: 'echo',
      });
      expect(chat?.price).toMatchObject({ input: '0', output: '0.000000001' });
      expect((await parley.call(`/models/${encodeURIComponent('org/small-chat')}`)).status).toBe(200);
      expect((await parley.call('/models/org/small-chat')).status).toBe(200);
      const spoken = await parley.postJson('/audio/speech', {
        model: 'tts-1',
        input: 'Hello.',
        voice: 'alloy',
      });
      expect(spoken.status).toBe(200);
      await spoken.arrayBuffer();
      const own = await parley.postJson('/audio/speech', { model: 'tts-1', input: 'Hello.', voice: 'slt' });
      expect(await errorOf(own)).toMatchObject({ code: 'unknown_voice' });
    } finally {
      await parley.close();
    }
  });
});

describe('GET /models over time', () => {
  it('lists no transcription if its programs are not installed', async () => {
    const transcription = fakeTranscription({
      availability: () => ({ available: false, reason: 'Install it.' }),
    });
    const parley = await startParley({ engines: withFakes({ transcription }) });
    try {
      expect(ids(await modelsOf(parley))).not.toContain('pocketsphinx');
    } finally {
      await parley.close();
    }
  });
});
