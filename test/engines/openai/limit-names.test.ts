/** The name under which an upstream gets the limit of an answer. */
import { afterAll, describe, expect, it } from 'vitest';
import { defaultLimitNames, tokenizerOf } from '../../../src/engines/openai/chat/limit-names.ts';
import { type BehindOptions, startBehind } from '../../support/behind-upstream.ts';
import { chunks, completion, question, readEvents } from '../../support/chat-answers.ts';
import { startScriptedUpstream } from '../../support/scripted-upstream.ts';
import { events, json } from '../../support/upstream-answers.ts';

it.each([
  ['https://api.openai.com/v1', 'max_completion_tokens'],
  ['https://me.openai.azure.com/openai/v1', 'max_completion_tokens'],
  ['https://me.services.ai.azure.com/openai/v1', 'max_completion_tokens'],
  ['http://127.0.0.1:8000/v1', 'max_tokens'],
  ['https://api.openai.com.example.org/v1', 'max_tokens'],
])('%s gets %s', (baseUrl, name) => {
  expect(defaultLimitNames(baseUrl)).toBe(name);
});

it('knows only the vocabulary of hosted OpenAI models', () => {
  expect(tokenizerOf('https://api.openai.com/v1', 'gpt-4.1-mini')).toBe('o200k');
  expect(tokenizerOf('https://api.openai.com/v1', 'gpt-3.5-turbo')).toBeUndefined();
  expect(tokenizerOf('http://127.0.0.1:8000/v1', 'gpt-4.1-mini')).toBeUndefined();
});

describe('an upstream that refuses the name of the limit', async () => {
  const path = '/chat/completions';
  const upstream = await startScriptedUpstream();
  afterAll(() => upstream.stop());
  const openAiWords =
    "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.";

  let seen = 0;
  const limits = () =>
    upstream.requests
      .slice(seen)
      .map(({ json: { max_tokens, max_completion_tokens } }) =>
        max_tokens === undefined ? { max_completion_tokens } : { max_tokens },
      );
  /** Refuses `max_tokens` with these words. */
  const refuse = (message: string, status = 400) => {
    seen = upstream.requests.length;
    upstream.answer(path, (exchange) => {
      const { max_tokens, stream } = exchange.request.json;
      if (max_tokens !== undefined) return json({ error: { message } }, { status })(exchange);
      return (stream ? events(chunks('a')) : json(completion()))(exchange);
    });
  };
  const within = async (
    options: BehindOptions,
    run: (ask: (more?: object) => Promise<Response>) => Promise<void>,
  ) => {
    const parley = await startBehind(upstream.baseUrl, options);
    await run((more = {}) => parley.postJson(path, { ...question, max_tokens: 7, ...more }));
    await parley.close();
  };

  it.each([
    [400, openAiWords],
    [400, 'Unrecognized request argument supplied: max_tokens'],
    [422, '[{"type":"extra_forbidden","loc":["body","max_tokens"],"msg":"Extra inputs are not permitted"}]'],
  ])('by %i %s gets the request again with the other name, once', async (status, words) => {
    await within({}, async (ask) => {
      refuse(words, status);
      expect((await ask()).status).toBe(200);
      expect((await readEvents(await ask({ stream: true }))).isDone).toBe(true);
      expect(limits()).toEqual([
        { max_tokens: 7 },
        { max_completion_tokens: 7 },
        { max_completion_tokens: 7 },
      ]);
    });
  });

  it('gets no second request for another reason, or if the name is configured', async () => {
    await within({}, async (ask) => {
      refuse(
        "'max_tokens' or 'max_completion_tokens' is too large: 7. The maximum context length is 4 tokens.",
      );
      expect((await ask()).status).toBe(400);
      refuse(openAiWords, 500);
      expect((await ask()).status).toBe(500);
      expect(limits()).toEqual([{ max_tokens: 7 }]);
    });
    await within({ engine: { outputLimit: 'max_tokens' } }, async (ask) => {
      refuse(openAiWords);
      expect((await ask()).status).toBe(400);
      expect(limits()).toEqual([{ max_tokens: 7 }]);
    });
  });
});
