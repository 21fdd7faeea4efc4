/** Programs with built-in names, with `examples/fixed-names.yaml` as their users would start it. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { missingHearing } from '../../src/media/hearing-files.ts';
import { readEvents } from '../support/chat-answers.ts';
import { startParley } from '../support/parley.ts';
import { chats, responses, speeches, transcriptions } from './recorded-requests.ts';

const file = new URL('../../examples/fixed-names.yaml', import.meta.url).pathname;
const missing = missingHearing();

const parley = await startParley({ file });
afterAll(() => parley.close());

const post = (path: string, body: string | FormData, headers: Readonly<Record<string, string>> = {}) =>
  parley.call(path, {
    method: 'POST',
    body,
    headers: { authorization: `Bearer ${parley.apiKey}`, ...headers },
  });
const json = { 'content-type': 'application/json' };

describe('a request for chat', () => {
  it.each(chats)('of $from', async ({ body, headers }) => {
    const response = await post('/chat/completions', JSON.stringify(body), { ...json, ...headers });
    expect(response.status).toBe(200);
    const usage = { prompt_tokens: expect.any(Number), completion_tokens: expect.any(Number) };
    if (body['stream'] === true) {
      const { events, isDone, text } = await readEvents(response);
      expect([isDone, text.length > 0]).toEqual([true, true]);
      expect(events.at(-1)?.usage).toMatchObject(usage);
    } else {
      const message = { role: 'assistant', content: expect.stringMatching(/./) };
      expect(await response.json()).toMatchObject({ choices: [{ message }], usage });
    }
    expect(await parley.recordOf(response)).toMatchObject({ state: 'ok', model: 'gpt-4o-mini' });
  });
});

describe('a request for a response', () => {
  it.each(responses)('of $from', async ({ body, headers }) => {
    const response = await post('/responses', JSON.stringify(body), { ...json, ...headers });
    expect(response.status).toBe(200);
    const told = await response.text();
    if (body['stream'] === true) expect(told).toMatch(/event: response\.completed\ndata: .*"usage":\{/);
    else expect(JSON.parse(told)).toMatchObject({ status: 'completed', output: [{ role: 'assistant' }] });
    expect(await parley.recordOf(response)).toMatchObject({ state: 'ok', model: 'gpt-4o-mini' });
  });
});

describe('a request for speech', () => {
  it.each(speeches)('of $from', async ({ body, headers }) => {
    const response = await post('/audio/speech', JSON.stringify(body), { ...json, ...headers });
    expect([response.status, response.headers.get('content-type')]).toEqual([200, 'audio/mpeg']);
    expect((await response.arrayBuffer()).byteLength).toBeGreaterThan(4_000);
    expect(await parley.recordOf(response)).toMatchObject({ state: 'ok', model: body['model'] });
  });
});

describe.skipIf(missing !== undefined)(`a transcription${missing ? ` (${missing})` : ''}`, () => {
  let spoken: Blob;
  beforeAll(async () => {
    const body = {
      model: 'tts-1',
      voice: 'ash',
      input: 'It is good to hear from you.',
      response_format: 'wav',
    };
    spoken = await (await post('/audio/speech', JSON.stringify(body))).blob();
  });

  it.each(transcriptions)('of $from', async ({ fileName, fields, headers }) => {
    const form = new FormData();
    form.append('file', spoken, fileName);
    for (const [name, value] of fields) form.append(name, value);
    const response = await post('/audio/transcriptions', form, headers);
    expect(response.status).toBe(200);
    expect(await response.json()).toMatchObject({ text: expect.stringMatching(/good to hear/) });
    expect(await parley.recordOf(response)).toMatchObject({ state: 'ok', model: 'whisper-1' });
  });
});

describe('the lists that people choose from', () => {
  const get = async (path: string) => (await parley.call(path)).json();

  it('has the models of Open WebUI, n8n and LibreChat under `data`', async () => {
    const { data } = (await get('/models')) as { data: { id: string }[] };
    expect(data.map(({ id }) => id)).toEqual([
      'tts-1',
      'tts-1-hd',
      'gpt-4o-mini-tts',
      'whisper-1',
      'gpt-4o-mini',
    ]);
  });

  it('has the speech models and voices of Open WebUI, each with a name', async () => {
    const { models } = (await get('/audio/models')) as { models: { id: string }[] };
    expect(models.map(({ id }) => id)).toEqual(['tts-1', 'tts-1-hd', 'gpt-4o-mini-tts']);
    const { voices } = (await get('/audio/voices')) as { voices: { id: string; name: string }[] };
    expect(voices.length).toBe(13);
    expect(voices[0]).toMatchObject({ id: 'alloy', name: 'alloy' });
  });
});
