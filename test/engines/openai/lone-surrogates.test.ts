/** Halves of surrogate pairs, which a client that cuts a text in the middle of an emoji sends, and many servers cannot read. */
import { afterAll, describe, expect, it } from 'vitest';
import { wellFormedJson } from '../../../src/core/values/json.ts';
import { startBehind } from '../../support/behind-upstream.ts';
import { startScriptedUpstream } from '../../support/scripted-upstream.ts';
import { json, whole } from '../../support/upstream-answers.ts';

const upstream = await startScriptedUpstream();
const price = { input: 1, output: 1 };
const served = { id: 'served', type: 'chat', engine: 'upstream', price, contextTokens: 4096 };
const parley = await startBehind(upstream.baseUrl, {
  engine: { voices: { anna: 'de-DE' } },
  models: [served, { id: 'speaker', type: 'speech', engine: 'upstream' }],
});
afterAll(async () => {
  await parley.close();
  await upstream.stop();
});

/** As clients write them: the halves of a pair, a whole pair, and the text of an escape. */
const sent = String.raw`\ud83d \ude00 \ud83d\ude00 \\ud83d`;
const arrives = '\ufffd \ufffd \u{1f600} \\ud83d';
const message = `"messages": [{"role": "user", "content": "${sent}"}]`;

const texts = (value: unknown): string[] => {
  if (typeof value === 'string') return [value];
  return typeof value === 'object' && value !== null ? Object.values(value).flatMap(texts) : [];
};

const headers = { authorization: `Bearer ${parley.apiKey}`, 'content-type': 'application/json' };
const post = (path: string, body: string) =>
  fetch(new URL(path, parley.baseUrl), { method: 'POST', headers, body });

async function send(path: string, body: string): Promise<string[]> {
  const choice = { index: 0, message: { role: 'assistant', content: 'Yes.' }, finish_reason: 'stop' };
  upstream.answer(
    '/chat/completions',
    json({ choices: [choice], usage: { prompt_tokens: 1, completion_tokens: 1 } }),
  );
  upstream.answer('/audio/speech', whole('ID3 sound', { headers: { 'content-type': 'audio/mpeg' } }));
  const before = upstream.requests.length;
  const answer = await post(path, body);
  expect([answer.status, await answer.text()]).toEqual([200, expect.anything()]);
  expect(upstream.requests.length).toBe(before + 1);
  return texts(JSON.parse(String(upstream.requests.at(-1)?.body)));
}

const tool = `{"type": "tool_use", "id": "c", "name": "f", "input": {"${sent}": "${sent}"}}`;
const result = '{"type": "tool_result", "tool_use_id": "c", "content": "done"}';

describe('over REST they reach an upstream as U+FFFD', () => {
  it.each([
    ['chat', '/api/v1/chat/completions', message],
    ['a response', '/api/v1/responses', `"input": "${sent}"`],
    ['a message', '/api/v1/messages', `${message}, "max_tokens": 9`],
    ['a completion', '/api/v1/completions', `"prompt": "${sent}"`],
    [
      'an unknown member',
      '/api/v1/chat/completions',
      `"messages": [{"role": "user", "content": "Hi", "x": "${sent}"}]`,
    ],
  ])('from %s', async (_, path, members) => {
    expect(await send(path, `{"model": "served", ${members}}`)).toContain(arrives);
  });

  it('from speech', async () => {
    expect(await send('/api/v1/audio/speech', `{"model": "speaker", "input": "${sent}"}`)).toContain(arrives);
  });

  it('from the input of a tool', async () => {
    const turns = `{"role": "user", "content": "Hi"}, {"role": "assistant", "content": [${tool}]}, {"role": "user", "content": [${result}]}`;
    const body = `{"model": "served", "max_tokens": 9, "messages": [${turns}]}`;
    const input = (await send('/api/v1/messages', body)).find((text) => text.startsWith('{'));
    expect(JSON.parse(String(input))).toEqual({ [arrives]: arrives });
  });
});

it('Connect refuses them, as texts of protobuf are UTF-8', async () => {
  const body = `{"params": {"model": "served", ${message.replace('"content": ', '"content": {"text": ').replace('"}]', '"}}]')}}}`;
  const answer = await post('/parley.chat.v1.ChatService/CreateChatCompletion', body);
  expect([answer.status, await answer.json()]).toEqual([
    400,
    expect.objectContaining({ code: 'invalid_argument' }),
  ]);
});

it('JSON without them stays as it is', () => {
  const value = { a: '\\ud83d \\\\ud83d \u001f "\\"', '\u{1f600}': [1, null, '\\u', '\\'] };
  expect(wellFormedJson(value)).toBe(JSON.stringify(value));
});
