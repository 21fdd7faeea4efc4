/** Chat messages to the JSON that upstreams take, and back. What nobody has named yet keeps its place both ways. */
import type { JsonObject, JsonValue } from '@bufbuild/protobuf';
import {
  type ChatCompletionParams,
  ChatCompletionParamsSchema,
} from '../../../gen/parley/chat/v1/chat_pb.ts';
import { answerCodec, chunkCodec } from '../../codec/chat-answer.ts';
import { jsonCodec } from '../../codec/codec.ts';
import { isObject } from '../../codec/shape.ts';
import type { ChatAnswer, ChatChunk } from '../../core/chat/answer.ts';
import { malformedResponse, upstreamSaid } from './failures.ts';

const paramsCodec = jsonCodec(ChatCompletionParamsSchema);
const paramNames = new Set(ChatCompletionParamsSchema.fields.map(({ jsonName }) => jsonName));

/** The body of a request. Usage is asked for whatever the client said: without it its tokens would be guessed. */
export function toUpstreamParams(
  params: ChatCompletionParams,
  { model, stream }: { readonly model: string; readonly stream: boolean },
): string {
  const json = paramsCodec.encode(withoutDisguised(params));
  if (!isObject(json)) throw new Error('the parameters are no object');
  json['model'] = model;
  json['stream'] = stream;
  if (stream) {
    const options = json['stream_options'];
    json['stream_options'] = { ...(isObject(options) ? options : {}), include_usage: true };
  }
  return JSON.stringify(json);
}

/**
 * The same without unknown parameters that bear the name of a known one: over gRPC a limit could be set there that nobody
 * has checked. `null` and what is empty has no field and stays.
 */
function withoutDisguised(params: ChatCompletionParams): ChatCompletionParams {
  const other = Object.entries(params.other ?? {});
  const honest = other.filter(([name, value]) => !paramNames.has(name) || saysNothing(value));
  return honest.length === other.length ? params : { ...params, other: Object.fromEntries(honest) };
}

function saysNothing(value: JsonValue): boolean {
  return value === null || (typeof value === 'object' && Object.keys(value).length === 0);
}

/** @throws `upstream_error` where it is no completion but an error or nonsense */
export function readAnswer(json: unknown): ChatAnswer {
  return answerCodec.decode(checkAnswer(json));
}

/** @throws `upstream_error` where it is no chunk but an error or nonsense */
export function readChunk(data: string): ChatChunk {
  let json: unknown;
  try {
    json = JSON.parse(data);
  } catch (cause) {
    throw malformedResponse('an event is not JSON', cause);
  }
  return chunkCodec.decode(checkAnswer(json));
}

function checkAnswer(json: unknown): JsonObject {
  if (!isObject(json)) throw malformedResponse('the answer is no object');
  if (json['error'] != null || json['object'] === 'error') throw upstreamSaid(JSON.stringify(json));
  return json;
}
