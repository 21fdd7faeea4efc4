/** The context of a chat model without `contextTokens`: the one that the upstream reports, or none. */
import { afterAll, beforeEach, describe, expect, it } from 'vitest';
import { servedModel, startBehind } from '../../support/behind-upstream.ts';
import { completion, question } from '../../support/chat-answers.ts';
import { bearer, errorOf, type Parley, startParley } from '../../support/parley.ts';
import { type Answer, startScriptedUpstream } from '../../support/scripted-upstream.ts';
import { json } from '../../support/upstream-answers.ts';

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
    expect(await errorOf(response.clone())).toMatchObject({ status: 400, code: 'invalid_messages' });
    expect((await errorOf(response)).message).toMatch(/longer than the 4096 tokens/);
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
