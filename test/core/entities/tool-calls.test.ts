/** Tool calls of upstreams that number or write them in their own way. */
import { create } from '@bufbuild/protobuf';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ToolCallSchema } from '../../../gen/parley/chat/v1/chat_pb.ts';
import { ToolCalls } from '../../../src/core/entities/tool-calls.ts';
import { startBehind } from '../../support/behind-upstream.ts';
import { chunk, completion, question, readEvents } from '../../support/chat-answers.ts';
import type { Parley } from '../../support/parley.ts';
import { type ScriptedUpstream, startScriptedUpstream } from '../../support/scripted-upstream.ts';
import { events, json } from '../../support/upstream-answers.ts';

describe('the pieces of calls', () => {
  type Piece = readonly [index: number | undefined, id: string | undefined, name: string, text: string];

  const assembled = (pieces: readonly Piece[]) => {
    const calls = new ToolCalls((call) => call);
    for (const [index, id, name, text] of pieces) {
      calls.take(create(ToolCallSchema, { index, id, function: { name, arguments: text } }));
    }
    return calls.all.map((call) => [call.givenId, call.name, call.text]);
  };

  const two = [
    ['a', 'weather', '{"city":"Rome"}'],
    ['b', 'time', '{"zone":"UTC"}'],
  ];

  it('that repeat the name continue a call until its object ends, whatever its texts contain', () => {
    const [first, second] = ['{"a":"}\\\\\\"{","b":{"c":"x"}}', '{}'];
    const pieces = [...first].map((letter): Piece => [0, undefined, 'find', letter]);
    expect(assembled([...pieces, [0, undefined, 'find', second]])).toEqual([
      ['', 'find', first],
      ['', 'find', second],
    ]);
    expect(JSON.parse(first)).toEqual({ a: '}\\"{', b: { c: 'x' } });
  });

  it.each([
    ['numbered 0 and 1', 0, 1],
    ['numbered 0 and 0', 0, 0],
    ['without numbers', undefined, undefined],
  ])('%s are kept apart by their ids', (_, first, second) => {
    const pieces: Piece[] = [
      [first, 'a', 'weather', '{"city"'],
      [first, undefined, '', ':"Rome"}'],
      [second, 'b', 'time', '{"zone"'],
      [second, 'b', '', ':"UTC"}'],
    ];
    expect(assembled(pieces)).toEqual(two);
  });

  it('of one id are kept apart by a name after a whole call, unless that repeats it without arguments', () => {
    const pieces: Piece[] = [
      [undefined, 'a', 'time', '{"zone":'],
      [undefined, 'a', 'time', '"UTC"}'],
      [undefined, 'a', 'time', ''],
      [undefined, 'a', 'time', '{"zone":"CET"}'],
    ];
    expect(assembled(pieces)).toEqual([
      ['a', 'time', '{"zone":"UTC"}'],
      ['a', 'time', '{"zone":"CET"}'],
    ]);
  });

  it('without ids are kept apart by a name after a whole call', () => {
    const pieces: Piece[] = [
      [0, undefined, 'weather', '{"city"'],
      [0, undefined, 'weather', ':"Rome"}'],
      [0, undefined, 'time', '{"zone":"UTC"}'],
    ];
    expect(assembled(pieces)).toEqual(two.map(([, ...call]) => ['', ...call]));
  });
});

describe('arguments that arrive as an object', () => {
  let upstream: ScriptedUpstream;
  let parley: Parley;
  beforeAll(async () => {
    upstream = await startScriptedUpstream();
    parley = await startBehind(upstream.baseUrl);
  });
  afterAll(async () => {
    await parley.close();
    await upstream.stop();
  });

  const called = { name: 'f', arguments: { a: 1, text: 'b' } };
  const text = '{"a":1,"text":"b"}';
  const calls = { tool_calls: [{ index: 0, id: 'call_1', type: 'function', function: called }] };
  const end = { finish_reason: 'tool_calls' };

  const ask = async (path: string, isStream: boolean) => {
    const message = { role: 'assistant', content: null, ...calls };
    upstream.answer(
      '/chat/completions',
      isStream
        ? events([chunk(calls), chunk({}, end)])
        : json(completion('', { choices: [{ index: 0, message, ...end }] })),
    );
    const body = { ...question, input: 'say hello', max_tokens: 10, stream: isStream };
    const answer = await parley.postJson(path, body);
    expect(answer.status).toBe(200);
    return answer;
  };

  it('are JSON in a chat', async () => {
    const answer = await (await ask('/chat/completions', false)).json();
    const expected = [{ function: { name: 'f', arguments: text } }];
    expect(answer).toMatchObject({ choices: [{ message: { tool_calls: expected } }] });
    const { events: parts } = await readEvents(await ask('/chat/completions', true));
    expect(parts[0]).toMatchObject({ choices: [{ delta: { tool_calls: expected } }] });
  });

  it('are JSON in a legacy function call', async () => {
    const message = { role: 'assistant', content: null, function_call: called };
    upstream.answer(
      '/chat/completions',
      json(completion('', { choices: [{ index: 0, message, finish_reason: 'function_call' }] })),
    );
    const answer = await (await parley.postJson('/chat/completions', question)).json();
    expect(answer).toMatchObject({
      choices: [{ message: { function_call: { name: 'f', arguments: text } } }],
    });
  });

  it('are JSON in a response', async () => {
    const item = { type: 'function_call', call_id: 'call_1', name: 'f', arguments: text };
    expect(await (await ask('/responses', false)).json()).toMatchObject({ output: [item] });
    expect(await (await ask('/responses', true)).text()).toContain(JSON.stringify(text));
  });

  it('are the input of a message', async () => {
    const block = { type: 'tool_use', id: 'call_1', name: 'f', input: called.arguments };
    expect(await (await ask('/messages', false)).json()).toMatchObject({ content: [block] });
    expect(await (await ask('/messages', true)).text()).toContain(JSON.stringify(text));
  });
});
