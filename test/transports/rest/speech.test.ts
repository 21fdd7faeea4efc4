import { afterAll, describe, expect, it } from 'vitest';
import type { SpeechEngine } from '../../../src/core/entities/engine.ts';
import { fakeSpeech, withFakes } from '../../support/fake-engines.ts';
import { bearer, errorOf, startParley, TestClock } from '../../support/parley.ts';

const speech = '/audio/speech';
const hello = { model: 'flite', input: 'Hello there.' };

const parley = await startParley();
afterAll(() => parley.close());

describe('POST /audio/speech', () => {
  const post = (body: unknown, init?: RequestInit) => parley.postJson(speech, body, init);
  const refusal = async (body: unknown) => errorOf(await post(body));

  describe('answers with audio', () => {
    it('as mp3 if no format is named, with null as absent', async () => {
      const response = await post({ ...hello, response_format: null, voice: null });
      expect(response.headers.get('content-type')).toBe('audio/mpeg');
      await response.arrayBuffer();
    });

    it('in pcm of 24 kHz at any rate of the voice', async () => {
      const seconds = async (voice: string) => {
        const response = await post({ ...hello, voice, response_format: 'pcm' });
        return (await response.arrayBuffer()).byteLength / 2 / 24_000;
      };
      expect(await seconds('kal')).toBeGreaterThan(0.4);
      expect(await seconds('kal')).toBeLessThan(2);
      expect(await seconds('slt')).toBeLessThan(2);
    });

    it('the same audio with any other fields', async () => {
      const audio = async (more: object) =>
        Buffer.from(await (await post({ ...hello, response_format: 'wav', ...more })).arrayBuffer());
      const plain = await audio({});
      const extra = {
        speed: 4,
        instructions: 'None',
        stream_format: 'sse',
        voice_settings: { a: 1 },
        n: 'x',
      };
      expect((await audio(extra)).equals(plain)).toBe(true);
    });

    it('with any value in a field that is dropped', async () => {
      for (const levels of [150, 90_000]) {
        const nested = `${'['.repeat(levels)}${']'.repeat(levels)}`;
        const body = JSON.stringify(hello).replace('{', `{"speed":${nested},`);
        const response = await parley.call(speech, { method: 'POST', body });
        expect(response.status, `${levels} levels`).toBe(200);
        await response.arrayBuffer();
      }
    });

    it('without a Content-Type on the request', async () => {
      const response = await post(hello, {
        headers: { authorization: `Bearer ${parley.apiKey}`, 'content-type': '' },
      });
      expect(response.status).toBe(200);
      await response.arrayBuffer();
    });

    it('with any value of `Accept`', async () => {
      const response = await post(hello, {
        headers: { authorization: `Bearer ${parley.apiKey}`, accept: 'text/html' },
      });
      expect(response.status).toBe(200);
      await response.arrayBuffer();
    });

    it('at once, long before a text of 4,000 characters is spoken', async () => {
      await (await post(hello)).arrayBuffer();
      const input = 'The ship sailed on through the night, and nobody on deck said a word. '
        .repeat(57)
        .slice(0, 4000);
      const response = await post({ model: 'flite', input });
      const reader = response.body?.getReader();
      for (let parts = 0; parts < 10; parts++) expect((await reader?.read())?.done).toBe(false);
      const { items } = await parley.app.store.usage.list({}, { size: 1, after: undefined });
      expect(items[0]).toMatchObject({ state: 'started' });
      await reader?.cancel();
    });
  });

  describe('counts characters as code points', () => {
    it('refuses 4,001 and states the limit', async () => {
      const error = await refusal({ model: 'flite', input: 'a'.repeat(4001) });
      expect(error).toMatchObject({ status: 400, code: 'input_too_long', param: 'input' });
      expect(error.message).toContain('4000');
    });
  });

  describe('refuses', () => {
    it.each<[string, object, string, string]>([
      ['a null model', { model: null, input: 'x' }, 'missing_model', 'model'],
      ['nothing at all', {}, 'missing_model', 'model'],
      ['a null input', { model: 'flite', input: null }, 'missing_input', 'input'],
      ['a blank input', { model: 'flite', input: ' \n\t ' }, 'invalid_input', 'input'],
      ['an input that is a number', { model: 'flite', input: 5 }, 'invalid_input', 'input'],
      ['an input that is a list', { model: 'flite', input: ['a'] }, 'invalid_input', 'input'],
      ['a model that is a number', { model: 5, input: 'x' }, 'invalid_input', 'model'],
      ['an empty model', { model: '', input: 'x' }, 'invalid_input', 'model'],
      ['a voice that is an object', { ...hello, voice: {} }, 'invalid_input', 'voice'],
      ...['', ' ', 5, [], {}, true].map((format): [string, object, string, string] => [
        `the format ${JSON.stringify(format)}`,
        { ...hello, response_format: format },
        'unsupported_response_format',
        'response_format',
      ]),
      ['a transcription model', { model: 'pocketsphinx', input: 'x' }, 'unknown_model', 'model'],
      [
        'a format in capitals',
        { ...hello, response_format: 'MP3' },
        'unsupported_response_format',
        'response_format',
      ],
    ])('%s', async (_, body, code, param) => {
      expect(await refusal(body)).toMatchObject({ status: 400, code, param, type: 'invalid_request_error' });
    });

    it('in the order of the contract’s table', async () => {
      const long = 'a'.repeat(5000);
      expect((await refusal({ input: 5 })).code).toBe('missing_model');
      expect((await refusal({ model: 'nope', response_format: 'aac' })).code).toBe('missing_input');
      expect((await refusal({ model: 'nope', input: ' ' })).code).toBe('invalid_input');
      expect((await refusal({ model: 'nope', input: 'x', response_format: 5 })).code).toBe('unknown_model');
      expect((await refusal({ model: 'nope', input: long })).code).toBe('unknown_model');
      expect((await refusal({ model: 'flite', input: long, response_format: 'aac' })).code).toBe(
        'input_too_long',
      );
      const badVoice = { model: 'flite', input: 'x', response_format: 'aac', voice: 'nope' };
      expect((await refusal(badVoice)).code).toBe('unsupported_response_format');
    });
  });

  describe('checks the key before the body', () => {
    it.each<[string, RequestInit]>([
      ['no key', { headers: { authorization: '' } }],
      ['a key of another scheme', { headers: { authorization: 'Basic abc' } }],
      ['a key that is no key', bearer('sk-1234')],
      ['a well-formed key that nobody has', bearer(`pk_${'0'.repeat(50)}0000000`)],
    ])('%s is invalid_api_key', async (_, init) => {
      const response = await parley.call(speech, { method: 'POST', body: 'not json', ...init });
      expect(response.headers.get('www-authenticate')).toBe('Bearer');
      expect(await errorOf(response)).toMatchObject({ status: 401, code: 'invalid_api_key', param: null });
    });

    it('a key without the scope is insufficient_scope, checked before the plan', async () => {
      const key = await parley.newKey({ scopes: ['chat'] });
      expect(await errorOf(await post(hello, bearer(key)))).toMatchObject({
        status: 403,
        code: 'insufficient_scope',
      });
    });

    it('no plan is subscription_required, with any credits, and is not retried', async () => {
      const key = await parley.newKey({ credits: '100' });
      const response = await post('not even an object', bearer(key));
      expect(response.headers.get('x-should-retry')).toBe('false');
      expect(await errorOf(response)).toMatchObject({ status: 402, code: 'subscription_required' });
    });
  });
});

describe('POST /audio/speech over a month and a trial', () => {
  it('refuses requests beyond the fair-use limit, says what is left and when it resets, and serves again then', async () => {
    const clock = new TestClock(Date.UTC(2026, 10, 25));
    const parley = await startParley({ clock, settings: { fairUse: { trialUnitsPerMonth: 20 } } });
    try {
      const speak = () => parley.postJson(speech, hello);
      await (await speak()).arrayBuffer();
      const refused = await speak();
      expect(refused.headers.get('x-should-retry')).toBe('false');
      const error = await errorOf(refused);
      expect(error).toMatchObject({ status: 402, code: 'fair_use_limit_reached' });
      expect(error.message).toBe(
        "This request needs 12 fair-use units, and 8 of this month's 20 are left. " +
          'A smaller request, of at most the units that are left, still passes. ' +
          'The limit resets at 2026-12-01T00:00:00.000Z.',
      );
      expect((await parley.postJson(speech, { ...hello, input: 'Hi there' })).status).toBe(200);
      expect((await errorOf(await speak())).message).toBe(
        "This request needs 12 fair-use units, and 0 of this month's 20 are left. " +
          'The limit resets at 2026-12-01T00:00:00.000Z.',
      );
      expect(await parley.recordOf(refused)).toMatchObject({
        state: 'refused',
        code: 'fair_use_limit_reached',
      });
      clock.nowMs = Date.UTC(2026, 11, 1);
      expect((await speak()).status).toBe(200);
    } finally {
      await parley.close();
    }
  });
});

it('POST /audio/speech stops the engine if a client does not read', async () => {
  let produced = 0;
  const eager: Partial<SpeechEngine> = {
    synthesize: () => ({
      audio: (async function* () {
        for (; produced < 100_000_000; produced += 65_536) yield Buffer.alloc(65_536, 1);
      })(),
      durationMs: () => 0,
    }),
  };
  const parley = await startParley({ engines: withFakes({ speech: fakeSpeech(eager) }) });
  try {
    const leave = new AbortController();
    const response = await parley.postJson(speech, hello, { signal: leave.signal });
    await new Promise((resolve) => setTimeout(resolve, 300));
    expect(produced).toBeLessThan(20_000_000);
    leave.abort();
    await parley.recordOf(response);
  } finally {
    await parley.close();
  }
});
