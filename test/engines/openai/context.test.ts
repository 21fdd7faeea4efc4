/** The context of a chat model without `contextTokens`: the one that the upstream reports, or none. */
import { afterAll, beforeEach, describe, expect, it } from 'vitest';
import { servedModel, startBehind } from '../../support/behind-upstream.ts';
import { chunks, completion, question } from '../../support/chat-answers.ts';
import { bearer, errorOf, type Parley, startParley } from '../../support/parley.ts';
import { type Answer, startScriptedUpstream } from '../../support/scripted-upstream.ts';
import { events, json } from '../../support/upstream-answers.ts';

const upstream = await startScriptedUpstream();
afterAll(() => upstream.stop());
const missing: Answer = json({ error: 'not found' }, { status: 404 });
const { contextTokens: _, outputTokensMax: __, ...untold } = servedModel;

beforeEach(() => {
  upstream.answer('/chat/completions', json(completion()));
  upstream.answer('/models', missing);
  upstream.answer('/api/show', missing);
});

async function catalogOf(parley: Parley) {
  const { data } = (await (await parley.call('/models', bearer(parley.apiKey))).json()) as {
    data: { context_window: number }[];
  };
  return data.map((model) => model.context_window);
}

const listed = (members: object) => json({ object: 'list', data: [{ id: 'upstream-model', ...members }] });

describe('the context of a model without `contextTokens`', () => {
  it.each<[string, object]>([
    ['vLLM', { max_model_len: 9_000 }],
    ['llama.cpp', { meta: { n_ctx_train: 9_000 } }],
    ['llama.cpp, with the context that it serves', { meta: { n_ctx: 9_000, n_ctx_train: 40_000 } }],
    ['OpenRouter', { context_length: 9_000 }],
  ])('is what %s lists', async (_server, members) => {
    upstream.answer('/models', listed(members));
    const parley = await startBehind(upstream.baseUrl, { models: [untold] });
    await expect.poll(() => catalogOf(parley)).toEqual([9_000]);
    expect((await parley.postJson('/chat/completions', question)).status).toBe(200);
    const limit = upstream.requests.at(-1)?.json.max_tokens;
    expect(limit).toBeGreaterThan(8_000);
    expect(limit).toBeLessThan(9_000);
    await parley.close();
  });

  it('is what Ollama shows beside its version', async () => {
    upstream.answer('/models', listed({}));
    upstream.answer('/api/show', json({ model_info: { 'llama.context_length': 9_000, 'llama.x': 1 } }));
    const parley = await startBehind(upstream.baseUrl, { models: [untold] });
    await expect.poll(() => catalogOf(parley)).toEqual([9_000]);
    await parley.close();
  });

  it('is required if the upstream does not report it: until then the model cannot be called', async () => {
    upstream.answer('/models', listed({}));
    const parley = await startBehind(upstream.baseUrl, { models: [untold] });
    await expect.poll(async () => (await ask(parley)).message).toContain('does not report the context');
    expect(await ask(parley)).toMatchObject({ status: 503, code: 'engine_unavailable' });
    expect((await ask(parley)).message).toContain('`contextTokens` of the model served');
    expect(await catalogOf(parley)).toEqual([]);
    await parley.close();
  });

  it('is not requested if it is configured', async () => {
    const asked = upstream.requests.length;
    const parley = await startBehind(upstream.baseUrl);
    expect((await parley.postJson('/chat/completions', question)).status).toBe(200);
    expect(upstream.requests.slice(asked).map(({ path }) => path)).toEqual(['/chat/completions']);
    await parley.close();
  });
});

async function ask(parley: Parley) {
  return errorOf(await parley.postJson('/chat/completions', question));
}

describe('a prompt over the context', () => {
  const long = { model: 'eliza', messages: [{ role: 'user', content: 'hello '.repeat(5_000) }] };

  it('is refused before the engine if the count is certain, and costs nothing', async () => {
    const parley = await startParley();
    const response = await parley.postJson('/chat/completions', long);
    expect(await errorOf(response.clone())).toMatchObject({ status: 400, code: 'context_length_exceeded' });
    expect((await errorOf(response)).message).toMatch(/prompt is too long: \d+ tokens > 4096 maximum/);
    await parley.close();
  });

  it('is paid for up to the context, if the upstream does not report its tokens', async () => {
    const { usage, ...unreported } = completion();
    upstream.answer('/chat/completions', json(unreported));
    const parley = await startBehind(upstream.baseUrl, {
      models: [{ ...servedModel, contextTokens: 100, outputTokensMax: 10 }],
    });
    const response = await parley.postJson('/chat/completions', { ...long, model: 'served' });
    expect(await response.json()).toMatchObject({ usage: { prompt_tokens: 100 } });
    await parley.close();
  });

  it('reaches an upstream that counts in its own way', async () => {
    const parley = await startBehind(upstream.baseUrl, {
      models: [{ ...servedModel, contextTokens: 4_096 }],
    });
    const response = await parley.postJson('/chat/completions', { ...long, model: 'served' });
    expect(response.status).toBe(200);
    await parley.close();
  });
});

describe('an upstream that refuses a prompt because of its length', () => {
  const vllm = `This model's maximum context length is 4096 tokens. However, you requested 5000 tokens (4000 in the messages, 1000 in the completion).`;
  const numbers = 'prompt is too long: 5000 tokens > 4096 maximum';
  const refusals: readonly [server: string, error: object, words?: string][] = [
    ['OpenAI', { message: 'Secret words', type: 'invalid_request_error', code: 'context_length_exceeded' }],
    ['vLLM', { message: vllm, type: 'BadRequestError', code: 400, id: 'req-77777-1795898988570' }, numbers],
    ['a server that adds much to it', { message: vllm, input: Array(200_000).fill(1) }, numbers],
    ['llama.cpp', { type: 'exceed_context_size_error', n_prompt_tokens: 5000, n_ctx: 4096 }, numbers],
    [
      'SGLang',
      { message: `The input (5000 tokens) is longer than the model's context length (4096 tokens).` },
      numbers,
    ],
    [
      'Mistral',
      { message: 'Prompt contains 5000 tokens, too large for a model with 4096 maximum context length' },
      numbers,
    ],
    [
      'Gemini',
      { message: 'The input token count (5000) exceeds the maximum number of tokens allowed (4096).' },
      numbers,
    ],
    ['Kimi', { message: 'Your request exceeded model token limit: 4096' }],
    ['Qwen', { message: 'Range of input length should be [1, 4096]' }],
    ['Anthropic', { message: 'prompt is too long: 5000 tokens > 4096 maximum' }, numbers],
    ['a limit of both', { message: 'input length and `max_tokens` exceed context limit: 5000 + 900 > 4096' }],
    ['xAI', { message: "This model's maximum prompt length is 4096 but the request contains 5000 tokens." }],
    ['Bedrock', { message: 'Input is too long for requested model.' }],
    ['Cohere', { message: 'too many tokens: size limit exceeded by 904 tokens. Try using shorter inputs.' }],
    [
      'Together',
      { message: '`inputs` tokens + `max_new_tokens` must be <= 4096. Given: 5000 `inputs` tokens' },
    ],
    ['TGI', { message: 'Input validation error: `inputs` must have less than 4096 tokens. Given: 5000' }],
  ];

  it.each(refusals)(
    'is understood, as %s says so, and the client pays nothing',
    async (_server, error, words) => {
      await using closing = new AsyncDisposableStack();
      const parley = await startBehind(upstream.baseUrl);
      closing.defer(() => parley.close());
      for (const [answer, body] of [
        [json({ error }, { status: 400 }), question],
        [json({ error }, { status: 400 }), { ...question, stream: true }],
        [events([{ error }]), { ...question, stream: true }],
      ] as const) {
        upstream.answer('/chat/completions', answer);
        const response = await parley.postJson('/chat/completions', body);
        const refused = await errorOf(response.clone());
        expect(refused).toMatchObject({ status: 400, code: 'context_length_exceeded' });
        expect(refused.message).toContain(words ?? 'prompt is too long');
        expect(refused.message).not.toContain('Secret words');
        const record = await parley.recordOf(response);
        expect(record).toMatchObject({ state: 'refused', code: 'context_length_exceeded', cost: undefined });
      }
    },
  );

  it('is told on every path of chats in the words of its clients', async () => {
    await using closing = new AsyncDisposableStack();
    const parley = await startBehind(upstream.baseUrl);
    closing.defer(() => parley.close());
    upstream.answer('/chat/completions', json({ error: { message: vllm } }, { status: 400 }));
    const { model } = question;
    for (const stream of [false, true]) {
      const response = await parley.postJson('/responses', { model, input: 'Hi', stream });
      expect(await errorOf(response)).toMatchObject({ status: 400, code: 'context_length_exceeded' });
      const message = await parley.postJson('/messages', { ...question, max_tokens: 9, stream });
      expect(await message.json()).toMatchObject({
        type: 'error',
        error: { type: 'invalid_request_error', message: expect.stringContaining(numbers) },
      });
    }
  });

  it('is not meant by a limit of the answer, and not by an error after some output', async () => {
    await using closing = new AsyncDisposableStack();
    const parley = await startBehind(upstream.baseUrl);
    closing.defer(() => parley.close());
    const limit = 'max_tokens is too large: 9000 exceeds the context length of 4096';
    upstream.answer('/chat/completions', json({ error: { message: limit } }, { status: 400 }));
    expect(await ask(parley)).toMatchObject({ status: 400, code: 'upstream_error' });
    upstream.answer(
      '/chat/completions',
      events([...chunks('Hello').slice(0, 1), { error: { message: vllm } }]),
    );
    const streamed = await parley.postJson('/chat/completions', { ...question, stream: true });
    expect(await streamed.text()).toContain('upstream_error');
  });
});
