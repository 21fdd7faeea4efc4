/** The newest OpenAI SDK, for users who change only the base URL, the key and the model's name. */
import OpenAI, { toFile } from 'openai';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Parley, startParley } from '../support/parley.ts';

describe('the OpenAI SDK', () => {
  let parley: Parley;
  let client: OpenAI;
  let spoken: Buffer;
  const sentence = 'Hello, and welcome to this place. It is good to hear from you.';
  const clientWith = (apiKey: string) => new OpenAI({ baseURL: parley.baseUrl, apiKey, maxRetries: 0 });

  beforeAll(async () => {
    parley = await startParley();
    client = clientWith(parley.apiKey);
    const speech = await client.audio.speech.create({ model: 'flite', voice: 'rms', input: sentence });
    spoken = Buffer.from(await speech.arrayBuffer());
  });
  afterAll(() => parley.close());

  it.each(['mp3', 'opus', 'flac', 'wav', 'pcm'] as const)(
    'speaks %s as a stream',
    async (response_format) => {
      const response = await client.audio.speech.create({
        model: 'flite',
        voice: 'slt',
        input: sentence,
        response_format,
      });
      let bytes = 0;
      let parts = 0;
      for await (const part of response.body ?? []) {
        bytes += part.length;
        parts++;
      }
      expect(bytes).toBeGreaterThan(8000);
      expect(parts).toBeGreaterThan(1);
    },
  );

  const upload = () => toFile(spoken, 'hello.mp3');

  it('reads back the spoken text as json', async () => {
    const { text } = await client.audio.transcriptions.create({ model: 'whisper-1', file: await upload() });
    expect(text).toMatch(/welcome to this place/);
  });

  it('transcribes as text, srt and vtt', async () => {
    const as = async (response_format: 'text' | 'srt' | 'vtt') =>
      (await client.audio.transcriptions.create({
        model: '',
        file: await upload(),
        response_format,
      })) as unknown as string;
    expect(await as('text')).toMatch(/welcome to this place/);
    expect(await as('srt')).toMatch(/^1\n00:00:0\d,\d{3} --> 00:00:0\d,\d{3}\n/);
    expect(await as('vtt')).toMatch(/^WEBVTT\n\n00:00:0\d\.\d{3} --> /);
  });

  it('transcribes as verbose_json with segments and word times', async () => {
    const { task, language, duration, segments, words, text } = (await client.audio.transcriptions.create({
      model: 'any',
      file: await upload(),
      response_format: 'verbose_json',
      timestamp_granularities: ['word', 'segment'],
    })) as OpenAI.Audio.TranscriptionVerbose & { task: string };
    expect({ task, language }).toEqual({ task: 'transcribe', language: 'english' });
    expect(duration).toBeGreaterThan(2);
    expect(segments?.[0]).toMatchObject({ id: 0, tokens: [], temperature: 0 });
    expect(words?.map(({ word }) => word).join(' ')).toBe(text);
    let last = 0;
    for (const { start, end } of words ?? []) {
      expect(start).toBeGreaterThanOrEqual(last);
      expect(end).toBeGreaterThan(start);
      last = start;
    }
    expect(last).toBeLessThan(duration);
  });

  it('streams a transcript as deltas and a last event with all of it', async () => {
    const stream = await client.audio.transcriptions.create({
      model: 'any',
      file: await upload(),
      stream: true,
    });
    let text = '';
    let done: string | undefined;
    for await (const event of stream) {
      if (event.type === 'transcript.text.delta') text += event.delta;
      if (event.type === 'transcript.text.done') done = event.text;
    }
    expect(text).toMatch(/welcome to this place/);
    expect(done).toBe(text);
  });

  it('chats, plain and streamed', async () => {
    const messages = [{ role: 'user' as const, content: 'My brother never listens to me.' }];
    const plain = await client.chat.completions.create({ model: 'eliza', messages });
    const text = plain.choices[0]?.message.content;
    expect(text).toBeTruthy();
    const stream = await client.chat.completions.create({
      model: 'eliza',
      messages,
      stream: true,
      stream_options: { include_usage: true },
    });
    let streamed = '';
    let usage: OpenAI.CompletionUsage | null | undefined;
    for await (const chunk of stream) {
      streamed += chunk.choices[0]?.delta.content ?? '';
      usage = chunk.usage ?? usage;
    }
    expect(streamed).toBe(text);
    expect(usage).toEqual(plain.usage);
  });

  it('lists and retrieves models', async () => {
    const models = (await client.models.list()).data;
    expect(models.map(({ id }) => id)).toEqual(['flite', 'pocketsphinx', 'eliza']);
    expect(await client.models.retrieve('eliza')).toEqual(models.find(({ id }) => id === 'eliza'));
  });

  describe('raises its own error classes with the code', () => {
    const speak = (changes: object = {}, apiKey = parley.apiKey) =>
      clientWith(apiKey).audio.speech.create({ model: 'flite', voice: 'slt', input: 'x', ...changes });
    const chat = (changes: object = {}, apiKey = parley.apiKey) =>
      clientWith(apiKey).chat.completions.create({
        model: 'eliza',
        messages: [{ role: 'user', content: 'x' }],
        ...changes,
      });

    it.each<[string, () => Promise<unknown>, new (...args: never[]) => Error, number, string]>([
      [
        'an unknown speech model',
        () => speak({ model: 'tts-1' }),
        OpenAI.BadRequestError,
        400,
        'unknown_model',
      ],
      ['a bad key', () => speak({}, 'pk_x'), OpenAI.AuthenticationError, 401, 'invalid_api_key'],
      [
        'an unknown chat model, streamed',
        () => chat({ model: 'x', stream: true }),
        OpenAI.BadRequestError,
        400,
        'unknown_model',
      ],
      ['no such model', () => client.models.retrieve('nope'), OpenAI.NotFoundError, 404, 'not_found'],
    ])('%s', async (_, run, type, status, code) => {
      const error = await run().then(
        () => undefined,
        (thrown: unknown) => thrown,
      );
      expect(error).toBeInstanceOf(type);
      expect(error).toMatchObject({ status, code, requestID: expect.stringMatching(/^req_/) });
    });

    it('a plan that is missing, without trying again', async () => {
      const key = await parley.newKey({ credits: '5' });
      const retrying = new OpenAI({ baseURL: parley.baseUrl, apiKey: key, maxRetries: 2 });
      await expect(
        retrying.audio.speech.create({ model: 'flite', voice: 'slt', input: 'x' }),
      ).rejects.toMatchObject({ status: 402, code: 'subscription_required' });
      const account = await parley.app.store.accounts.find('account-2');
      const { items } = await parley.app.store.usage.list(
        { accountId: account?.id },
        { size: 10, after: undefined },
      );
      expect(items.length).toBe(1);
    });
  });
});
