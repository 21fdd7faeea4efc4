/** How requests for thinking of the Anthropic SDK reach upstreams. */
import Anthropic from '@anthropic-ai/sdk';
import { afterAll, expect, it } from 'vitest';
import { servedModel, startBehind } from '../support/behind-upstream.ts';
import { completion } from '../support/chat-answers.ts';
import { startScriptedUpstream } from '../support/scripted-upstream.ts';
import { json } from '../support/upstream-answers.ts';

const upstream = await startScriptedUpstream();
upstream.answer('/chat/completions', json(completion('hello')));
const parley = await startBehind(upstream.baseUrl, {
  models: [
    servedModel,
    ...['effort', 'parameter', 'none'].map((thinking) => ({ ...servedModel, id: thinking, thinking })),
  ],
});
const baseURL = parley.baseUrl.replace(/\/v1$/, '');
const client = new Anthropic({ baseURL, apiKey: parley.apiKey, maxRetries: 0 });
afterAll(async () => {
  await parley.close();
  await upstream.stop();
});

const thinking = { type: 'enabled', budget_tokens: 1_024 } as const;

it.each([
  ['served', { reasoning_effort: 'high' }],
  ['effort', { reasoning_effort: 'high' }],
  ['parameter', { reasoning_effort: 'high', thinking }],
  ['none', {}],
])('sends effort and thinking as the operator has set: %s', async (model, expected) => {
  const question = { model, max_tokens: 2_000, thinking, output_config: { effort: 'high' as const } };
  const messages = [{ role: 'user' as const, content: 'go' }];
  await client.messages.create({ ...question, messages });
  const { reasoning_effort, thinking: asked } = upstream.requests.at(-1)?.json ?? {};
  expect({ reasoning_effort, thinking: asked }).toEqual(expected);
  const counted = await client.messages.countTokens({ model, thinking, messages });
  expect(counted).toEqual(await client.messages.countTokens({ model, messages }));
});

it('passes the thinking of a chat in any case, as an unknown parameter', async () => {
  const body = { model: 'none', messages: [{ role: 'user', content: 'go' }], thinking };
  expect((await parley.postJson('/chat/completions', body)).status).toBe(200);
  expect(upstream.requests.at(-1)?.json.thinking).toEqual(thinking);
});
