import { create, type JsonObject, type JsonValue } from '@bufbuild/protobuf';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { AccountSchema } from '../../gen/parley/account/v1/account_pb.ts';
import { ListModelsResponseSchema } from '../../gen/parley/catalog/v1/catalog_pb.ts';
import {
  ChatCompletionChunkSchema,
  ChatCompletionParamsSchema,
  ChatMessageSchema,
} from '../../gen/parley/chat/v1/chat_pb.ts';
import { CreateKeyRequestSchema } from '../../gen/parley/management/v1/management_pb.ts';
import { SynthesizeSpeechRequestSchema } from '../../gen/parley/speech/v1/speech_pb.ts';
import { jsonCodec } from '../../src/codec/codec.ts';

const params = jsonCodec(ChatCompletionParamsSchema);
const chunk = jsonCodec(ChatCompletionChunkSchema);
const parse = (text: string): JsonValue => JSON.parse(text);

/** Decodes JSON and encodes the message again. */
const roundTrip = (json: JsonValue) => params.encode(params.decode(json));

/** Calls `onRead` when a decoder lists the members of the object. */
function watch<T extends JsonValue>(json: T, onRead: () => void): T {
  if (typeof json !== 'object' || json === null) return json;
  return new Proxy(json, {
    ownKeys: (target) => {
      onRead();
      return Reflect.ownKeys(target);
    },
  });
}

describe('the JSON codec', () => {
  it('encodes a request with every field as it was decoded', () => {
    const request = parse(`{
      "model": "m", "temperature": 0.1, "top_p": 1e-7, "n": 2, "stop": "a", "seed": 7, "logit_bias": {"50256": -100},
      "messages": [
        {"role": "user", "content": [{"type": "text", "text": "x"}, {"type": "image_url", "image_url": {"url": "data:,", "detail": "low"}},
          {"type": "input_audio", "input_audio": {"data": "AAA=", "format": "wav"}}, {"type": "file", "file": {"file_id": "f"}}]},
        {"role": "assistant", "content": null, "tool_calls": [{"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}]},
        {"role": "tool", "tool_call_id": "c", "content": "1"}],
      "tools": [{"type": "function", "function": {"name": "f", "parameters": {"type": "object", "properties": {"a": {"type": ["string", "null"]}}}, "strict": true}}],
      "tool_choice": {"type": "function", "function": {"name": "f"}}, "parallel_tool_calls": false,
      "response_format": {"type": "json_schema", "json_schema": {"name": "n", "schema": {"a": [1, {"b": null}]}, "strict": false}},
      "stream_options": {"include_usage": true}, "metadata": {"k": "v"}, "modalities": ["text"], "audio": {"voice": {"id": "v"}, "format": "wav"},
      "prediction": {"type": "content", "content": "x"}, "web_search_options": {}, "logprobs": true, "top_logprobs": 20, "max_tokens": 5
    }`);
    const message = params.decode(request);
    expect(params.encode(message)).toEqual(request);
  });

  it('keeps unknown members in their place, at every depth', () => {
    const request = parse(
      '{"model": "m", "messages": [{"role": "user", "content": [{"type": "x", "y": {"z": [null, 1.5]}}], "w": 1}], "v": {"u": {}}}',
    );
    expect(roundTrip(request)).toEqual(request);
  });

  it('keeps null and absent apart, empty and absent too', () => {
    const request = parse(
      '{"temperature": null, "stop": null, "messages": [], "tools": [], "logit_bias": {}, "metadata": null}',
    );
    expect(roundTrip(request)).toEqual(request);
    expect(roundTrip({})).toEqual({});
  });

  it('keeps members with dangerous names as plain members', () => {
    const request = parse(
      '{"__proto__": {"polluted": true}, "constructor": 1, "x": {"__proto__": 2}, "toString": null}',
    );
    const back = roundTrip(request);
    expect(JSON.stringify(back)).toBe(JSON.stringify(request));
    expect(({} as { polluted?: boolean }).polluted).toBeUndefined();
  });

  it('keeps random unknown members exactly', () => {
    const schemas = [ChatCompletionParamsSchema, ChatMessageSchema];
    const known = new Set(schemas.flatMap(({ fields }) => fields.map(({ jsonName }) => jsonName)));
    const name = fc.string().filter((text) => !known.has(text) && text !== '__proto__');
    fc.assert(
      fc.property(fc.dictionary(name, fc.jsonValue()), (members) => {
        const json = JSON.parse(JSON.stringify(members)) as JsonObject;
        expect(roundTrip(json)).toEqual(json);
        expect(roundTrip({ model: 'm', messages: [{ role: 'user', ...json }] })).toEqual({
          model: 'm',
          messages: [{ role: 'user', ...json }],
        });
      }),
    );
  });

  it.each([
    ['{"model": 5}', 'model', 'a string'],
    ['{"messages": [{"role": "user", "content": {"a": 1}}]}', 'messages[0].content', 'a string or an array'],
    ['{"messages": [{"role": "user"}, 7]}', 'messages[1]', 'an object'],
    ['{"temperature": "hot"}', 'temperature', 'a number'],
    ['{"logprobs": 1}', 'logprobs', 'true or false'],
    ['{"tools": {}}', 'tools', 'an array'],
    ['{"metadata": {"a": "b", "c": 1}}', 'metadata.c', 'a string'],
    ['[]', '', 'an object'],
  ])('names the member of the wrong type in %s, and the expected type', (text, path, expected) => {
    const error = { code: 'invalid_parameter', param: path, message: `\`${path}\` must be ${expected}.` };
    expect(() => params.decode(parse(text))).toThrow(expect.objectContaining(error));
  });

  it('stops at the first member of the wrong type', () => {
    const messages: JsonValue[] = [{ role: 'user' }, 7, { role: 'user' }];
    const read: string[] = [];
    const watched = messages.map((message, index) => watch(message, () => read.push(`messages[${index}]`)));
    const document = watch({ messages: watched, model: 5 }, () => read.push('document'));
    expect(() => params.decode(document)).toThrow(expect.objectContaining({ param: 'messages[1]' }));
    expect(read).toEqual(['document', 'messages[0]']);
  });

  it('keeps members of the wrong type where the caller does not rely on them', () => {
    const document = { model: 'm', messages: [], temperature: 'hot', tools: [{ type: 5 }, 7], n: 'two' };
    const codeOf = (path: string) => (path === 'n' ? 'invalid_input' : undefined);
    const error = { code: 'invalid_input', param: 'n' };
    expect(() => params.decode(document, codeOf)).toThrow(expect.objectContaining(error));
    const { n, ...lenient } = document;
    expect(params.encode(params.decode(lenient, codeOf))).toEqual(lenient);
  });

  it('keeps members of an unexpected type in the response of another server', () => {
    const answer = parse(
      '{"id": 7, "created": 1.5, "choices": [{"index": 0, "delta": {"content": "x", "reasoning": "y"}, "finish_reason": null, "logprobs": null}], "usage": null}',
    );
    expect(chunk.encode(chunk.decodeLeniently(answer))).toMatchObject(answer as object);
  });

  it('drops unknown members of messages that cannot keep them', () => {
    const speech = jsonCodec(SynthesizeSpeechRequestSchema);
    const message = speech.decode({ model: 'm', input: 'x', speed: 2, voice: null });
    expect(speech.encode(message)).toEqual({ model: 'm', input: 'x' });
  });

  it('writes an always-present list even if it is empty', () => {
    const list = jsonCodec(ListModelsResponseSchema);
    expect(list.encode(create(ListModelsResponseSchema, { object: 'list' }))).toEqual({
      object: 'list',
      data: [],
    });
    expect(chunk.encode(create(ChatCompletionChunkSchema, { id: 'a' }))).toMatchObject({ choices: [] });
  });

  it('writes 64-bit integers as numbers while these are exact, else as strings', () => {
    const account = jsonCodec(AccountSchema);
    const encode = (balanceNanoCredits: bigint) =>
      (account.encode(create(AccountSchema, { balanceNanoCredits })) as JsonObject)['balance_nano_credits'];
    expect(encode(9_007_199_254_740_991n)).toBe(9_007_199_254_740_991);
    expect(encode(9_007_199_254_740_993n)).toBe('9007199254740993');
  });

  it('reads times as RFC 3339', () => {
    const key = jsonCodec(CreateKeyRequestSchema);
    const request = { name: 'k', expires_at: '2030-01-31T12:00:00Z' };
    expect(key.encode(key.decode(request))).toMatchObject(request);
    key.decode({ expires_at: '2028-02-29T23:59:59+14:00' });
    for (const expires_at of ['soon', '2030-02-30T12:00:00Z', '2030-13-01T12:00:00Z'])
      expect(() => key.decode({ expires_at })).toThrow(expect.objectContaining({ param: 'expires_at' }));
  });
});
