/** The AI SDK's speech and transcription, with OpenAI's provider. */
import { createOpenAI } from '@ai-sdk/openai';
import { APICallError, generateSpeech, RetryError, transcribe } from 'ai';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { play, playingEngines, recording } from '../conformance/play.ts';
import { type Parley, startParley } from '../support/parley.ts';

describe('the AI SDK', () => {
  let parley: Parley;
  let openai: ReturnType<typeof createOpenAI>;
  beforeAll(async () => {
    parley = await startParley({ engines: playingEngines() });
    openai = createOpenAI({ baseURL: parley.baseUrl, apiKey: parley.apiKey });
  });
  afterAll(() => parley.close());

  const states = async (operation: string) => {
    const { items } = await parley.app.store.usage.list({ operation }, { size: 100, after: undefined });
    return items.map(({ state }) => state);
  };
  const speak = (text: string, model = 'flite') =>
    generateSpeech({ model: openai.speech(model), text, voice: 'one', outputFormat: 'pcm', maxRetries: 0 });

  it('speaks', async () => {
    const { audio } = await speak(play('say one', 'say two'));
    expect(Buffer.from(audio.uint8Array).toString()).toBe('onetwo');
  });

  it('reads why it cannot speak', async () => {
    const error: unknown = await speak('Hello.', 'tts-1').catch((thrown: unknown) => thrown);
    expect(APICallError.isInstance(error) && error.statusCode).toBe(400);
    expect(String(error)).toContain('examples/fixed-names.yaml');
  });

  it('transcribes, with the language and the times of segments', async () => {
    const transcript = await transcribe({
      model: openai.transcription('whisper-1'),
      audio: recording('say one', 'say two'),
      providerOptions: { openai: { timestampGranularities: ['segment'] } },
    });
    expect(transcript).toMatchObject({ text: 'one two', language: 'en', durationInSeconds: 0.5 });
    expect(transcript.segments).toEqual([
      { text: 'one', startSecond: 0, endSecond: 0.25 },
      { text: 'two', startSecond: 0.25, endSecond: 0.5 },
    ]);
  });

  it('tries a transcription again if the engine is busy, then gives up', async () => {
    const before = (await states('transcription')).length;
    const error: unknown = await transcribe({
      model: openai.transcription('whisper-1'),
      audio: recording('say one', 'fail overloaded - 0'),
      maxRetries: 1,
    }).catch((thrown: unknown) => thrown);
    expect(RetryError.isInstance(error) && error.reason).toBe('maxRetriesExceeded');
    expect((await states('transcription')).length - before).toBe(2);
  });

  it('stops the engine when it leaves', async () => {
    const leaving = new AbortController();
    const speaking = generateSpeech({
      model: openai.speech('flite'),
      text: play('say one', 'wait'),
      voice: 'one',
      outputFormat: 'pcm',
      abortSignal: leaving.signal,
    }).catch((thrown: unknown) => thrown);
    await expect.poll(() => states('speech')).toContain('started');
    leaving.abort();
    expect(await speaking).toBeInstanceOf(Error);
    await expect.poll(() => states('speech')).toContain('cancelled');
  });
});
