/** Core and clients see the same answer, whether it is JSON or a message. */
import { create, type JsonObject } from '@bufbuild/protobuf';
import { describe, expect, it } from 'vitest';
import {
  ChatCompletionChunkSchema,
  ChatCompletionSchema,
  UsageSchema,
} from '../../gen/parley/chat/v1/chat_pb.ts';
import { answerCodec, chunkCodec } from '../../src/codec/chat-answer.ts';
import { jsonCodec } from '../../src/codec/codec.ts';
import { type ChatChunk, messageAnswer, messageChunk } from '../../src/core/entities/chat-answer.ts';

const head = { id: 'c', object: 'chat.completion.chunk', created: 1, model: 'theirs' };
const ours = { id: 'o', object: 'chat.completion.chunk', created: 2, model: 'ours' } as const;
const usage = { prompt_tokens: 3, completion_tokens: 2, total_tokens: 5, cost: 0.1 };
const call = { index: 0, id: 'call_1', function: { name: 'f', arguments: '{"a":' } };

/** Chunks as upstreams send them. */
const chunks: Record<string, JsonObject> = {
  'a role': {
    ...head,
    choices: [{ index: 0, delta: { role: 'assistant', content: '' }, finish_reason: null }],
  },
  'a text': { ...head, choices: [{ index: 0, delta: { content: 'a word' }, logprobs: null }] },
  'several choices': {
    ...head,
    choices: [
      { index: 1, delta: { content: 'b' }, finish_reason: 'stop' },
      { index: 0, delta: { refusal: 'no' }, finish_reason: 'length' },
    ],
  },
  'a tool call': { ...head, choices: [{ index: 0, delta: { content: null, tool_calls: [call] } }] },
  'a custom tool call': {
    ...head,
    choices: [
      { index: 0, delta: { tool_calls: [{ ...call, function: null, custom: { name: 'g', input: 'x' } }] } },
    ],
  },
  reasoning: { ...head, choices: [{ index: 0, delta: { reasoning_content: 'hm', reasoning: 'hm' } }] },
  'reasoning under the later name': { ...head, choices: [{ index: 0, delta: { reasoning: 'so' } }] },
  'usage with the end': { ...head, choices: [{ index: 0, delta: {}, finish_reason: 'stop' }], usage },
  'usage alone': { ...head, choices: [], usage, x_vendor: { time: 1 } },
  'nothing that can be left out': { choices: [{ delta: { content: 'a' } }] },
  'null in many places': { id: null, created: null, choices: [{ index: null, delta: { content: null } }] },
  'no choices at all': { ...head, prompt_filter_results: [] },
  'members of other kinds': {
    ...head,
    created: '1',
    choices: [{ index: 0, delta: { content: 5, refusal: {} }, finish_reason: 7 }],
  },
};

const messageCodec = jsonCodec(ChatCompletionChunkSchema);
const asMessage = (json: JsonObject): ChatChunk =>
  messageChunk(messageCodec.decodeLeniently(structuredClone(json)));
const asJson = (json: JsonObject): ChatChunk => chunkCodec.decode(structuredClone(json));

/** The members of a chunk that core reads, and the client's JSON after core has written to the chunk. */
function passed(chunk: ChatChunk) {
  const {
    output: { text },
    other,
  } = chunk;
  const choices = chunk.choices.map(({ index, finishReason }) => ({
    index,
    isFinished: Boolean(finishReason),
  }));
  const reported = chunk.takeUsage();
  chunk.setHead(ours);
  chunk.addOther({ told: { later: true } });
  const withoutUsage = structuredClone(chunkCodec.encode(chunk));
  chunk.setUsage(create(UsageSchema, reported ?? { promptTokens: 9 }));
  return { text, other, choices, reported, withoutUsage, whole: chunkCodec.encode(chunk) };
}

describe('a chunk', () => {
  for (const [name, json] of Object.entries(chunks)) {
    it(`with ${name} is the same in both forms`, () => {
      expect(passed(asJson(json))).toEqual(passed(asMessage(json)));
    });
  }

  it.each([null, 'much', 5, []])('drops usage that is %j', (usage) => {
    const chunk = asJson({ ...head, choices: [], usage });
    expect(chunk.takeUsage()).toBeUndefined();
    expect(chunkCodec.encode(chunk)).toEqual({ ...head, choices: [] });
    expect(chunk.other).toBeUndefined();
  });

  it('reports usage from the choice that ends', () => {
    const usage = { prompt_tokens: 9, completion_tokens: 4, total_tokens: 13 };
    const chunk = asJson({ ...head, choices: [{ index: 0, delta: {}, finish_reason: 'stop', usage }] });
    expect(chunk.takeUsage()).toMatchObject({ promptTokens: 9, completionTokens: 4, totalTokens: 13 });
  });

  it('that is JSON changes only where core writes', () => {
    const chunk = asJson({ ...chunks['a text'], big: 1e300, deep: { list: [null, { a: null }] } });
    chunk.setHead(ours);
    expect(chunkCodec.encode(chunk)).toEqual({
      ...chunks['a text'],
      choices: [{ index: 0, delta: { content: 'a word' }, logprobs: null, finish_reason: null }],
      model: 'ours',
      big: 1e300,
      deep: { list: [null, { a: null }] },
    });
  });

  it('gets the missing members of its head, and a null finish reason', () => {
    for (const missing of [
      {},
      { id: null, object: '', created: 0 },
      { id: 7, object: false, created: -1 },
      { id: [], object: {}, created: 'today' },
    ]) {
      const chunk = asJson({ ...missing, choices: [{}] });
      chunk.setHead(ours);
      expect(chunkCodec.encode(chunk)).toEqual({
        ...ours,
        choices: [{ index: 0, delta: {}, finish_reason: null }],
      });
    }
    const chunk = asJson({ ...head, choices: [{ delta: {}, finish_reason: 'stop' }] });
    chunk.setHead(ours);
    expect(chunkCodec.encode(chunk)).toMatchObject({ ...head, model: 'ours' });
    expect(chunk.choices).toEqual([{ index: 0, finishReason: 'stop' }]);
  });

  it.each([
    [1_700_000_000.75, 1_700_000_000],
    ['1700000000', 1_700_000_000],
    [1e300, 2],
    [Number.NaN, 2],
  ])('that was created at %j has a whole number of seconds in both forms', (created, expected) => {
    for (const chunk of [asJson({ ...head, created }), asMessage({ ...head, created })]) {
      chunk.setHead(ours);
      expect(chunk.message.created).toBe(BigInt(expected));
      expect(chunkCodec.encode(chunk)).toMatchObject({ created: expected });
    }
  });

  it('has no finish reason as a message while it is null', () => {
    const chunk = asJson({ ...head, choices: [{ index: 0, delta: {}, finish_reason: null }] });
    const [choice] = chunk.message.choices;
    expect([choice?.finishReason, choice?.other]).toEqual([undefined, undefined]);
    expect(chunkCodec.encode(messageChunk(chunk.message))).toMatchObject({
      choices: [{ index: 0, finish_reason: null }],
    });
  });

  it('has text in parts, which a delta of the schema cannot have', () => {
    const content = [
      { type: 'text', text: 'one' },
      { type: 'text', text: 'two' },
    ];
    expect(asJson({ ...head, choices: [{ index: 0, delta: { content } }] }).output.text).toBe('one\ntwo');
  });
});

describe('an answer', () => {
  it('has every member that the types of SDKs promise', () => {
    const given = create(ChatCompletionSchema, { choices: [{ finishReason: 'stop' }] });
    for (const answer of [
      messageAnswer(given),
      answerCodec.decode({ choices: [{ finish_reason: 'stop' }] }),
    ]) {
      const answerHead = { ...ours, object: 'chat.completion' as const };
      answer.setHead(answerHead);
      const message = { role: 'assistant', content: null, refusal: null };
      expect(answerCodec.encode(answer)).toEqual({
        ...answerHead,
        choices: [{ index: 0, message, logprobs: null, finish_reason: 'stop' }],
      });
    }
  });

  const message = { role: 'assistant', content: 'Hello', reasoning: 'hm', tool_calls: [call] };
  const json = { ...head, choices: [{ index: 0, message, finish_reason: 'stop' }], usage, x: null };

  it('is the same in both forms', () => {
    const ours = answerCodec.decode(structuredClone(json));
    const theirs = messageAnswer(jsonCodec(ChatCompletionSchema).decodeLeniently(json));
    expect(ours.output.text).toBe('Hellof{"a":hm');
    expect(theirs.output.text).toBe(ours.output.text);
    expect(ours.message).toEqual(theirs.message);
    expect(answerCodec.encode(ours)).toEqual(answerCodec.encode(theirs));
    expect(ours.takeUsage()).toEqual(theirs.takeUsage());
  });
});
