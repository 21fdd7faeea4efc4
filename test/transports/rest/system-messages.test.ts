/** System and developer messages of all chat APIs, as they reach an upstream. */
import { create } from '@bufbuild/protobuf';
import { afterAll, describe, expect, it } from 'vitest';
import { ChatCompletionParamsSchema } from '../../../gen/parley/chat/v1/chat_pb.ts';
import { toUpstreamParams } from '../../../src/engines/openai/chat/json.ts';
import { isOpenAi } from '../../../src/engines/openai/chat/limit-names.ts';
import { servedModel, startBehind } from '../../support/behind-upstream.ts';
import { completion } from '../../support/chat-answers.ts';
import { startScriptedUpstream } from '../../support/scripted-upstream.ts';
import { json } from '../../support/upstream-answers.ts';

const upstream = await startScriptedUpstream();
upstream.answer('/chat/completions', json(completion('hello')));
const parley = await startBehind(upstream.baseUrl, {
  models: [
    servedModel,
    ...['as-sent', 'one-first'].map((systemMessages) => ({
      ...servedModel,
      id: systemMessages,
      systemMessages,
    })),
  ],
});
afterAll(async () => {
  await parley.close();
  await upstream.stop();
});

const user = { role: 'user', content: 'go' };
const said = (content: string, role = 'system') => ({ role, content });
const image = { type: 'image_url', image_url: { url: 'data:image/png;base64,AAAA' } };
const chat = { messages: [said('one', 'developer'), user, said('two'), said('three', 'developer')] };
const response = { instructions: 'one', input: [said('two', 'developer'), user, said('three', 'developer')] };
const message = {
  system: [
    { type: 'text', text: 'one', cache_control: { type: 'ephemeral' } },
    { type: 'text', text: 'two' },
  ],
  messages: [user, said('three')],
};

describe.each([
  ['/chat/completions', chat, [said('one'), user, said('two'), said('three')]],
  ['/responses', response, [said('one'), said('two'), user, said('three')]],
  [
    '/messages',
    message,
    [
      {
        role: 'system',
        content: [
          { type: 'text', text: 'one' },
          { type: 'text', text: 'two' },
        ],
      },
      user,
      said('three'),
    ],
  ],
])('%s', (path, body, asSent) => {
  const joined = [said('one\n\ntwo\n\nthree'), user];

  it.each([
    ['served', path === '/chat/completions' ? asSent : joined],
    ['as-sent', asSent],
    ['one-first', joined],
  ])('sends system messages as the operator has set for the model %s', async (model, expected) => {
    expect((await parley.postJson(path, { model, ...body })).status).toBe(200);
    expect(upstream.requests.at(-1)?.json.messages).toEqual(expected);
  });
});

it('keeps the parts of system messages that are not plain text', async () => {
  const messages = [user, { role: 'system', content: [{ type: 'text', text: 'one' }, image] }, said('two')];
  await parley.postJson('/chat/completions', { model: 'one-first', messages });
  const content = [{ type: 'text', text: 'one' }, image, { type: 'text', text: 'two' }];
  expect(upstream.requests.at(-1)?.json.messages).toEqual([{ role: 'system', content }, user]);
});

it.each([
  ['https://api.openai.com/v1', true, 'developer'],
  ['https://mine.openai.azure.com/openai/v1', true, 'developer'],
  ['https://api.deepseek.com', false, 'system'],
])('sends the role developer to %s: %s', (baseUrl, takesDeveloper, role) => {
  expect(isOpenAi(baseUrl)).toBe(takesDeveloper);
  const params = create(ChatCompletionParamsSchema, { messages: [{ role: 'developer' }, { role: 'user' }] });
  const form = {
    model: 'm',
    stream: false,
    limitNames: 'max_tokens',
    parameters: {},
    takesDeveloper,
  } as const;
  const sent = JSON.parse(toUpstreamParams(params, form).toString());
  expect(sent.messages).toEqual([{ role }, { role: 'user' }]);
});
