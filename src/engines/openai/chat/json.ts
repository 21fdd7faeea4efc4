/** Turns chat messages into the JSON of the OpenAI API, and back. Unknown fields keep their place in both directions. */
import type { JsonObject, JsonValue } from '@bufbuild/protobuf';
import {
  type ChatCompletionParams,
  ChatCompletionParamsSchema,
} from '../../../../gen/parley/chat/v1/chat_pb.ts';
import { answerCodec, chunkCodec } from '../../../codec/chat-answer.ts';
import { jsonCodec } from '../../../codec/codec.ts';
import { isObject } from '../../../codec/shape.ts';
import type { ChatAnswer, ChatChunk } from '../../../core/chat/answer.ts';
import { malformedResponse, reportedError } from '../errors.ts';

const paramsCodec = jsonCodec(ChatCompletionParamsSchema);
const paramNames = new Set(ChatCompletionParamsSchema.fields.map(({ jsonName }) => jsonName));

/** The body of a request. Always asks for usage: without it the tokens would have to be counted here. */
export function toUpstreamParams(
  params: ChatCompletionParams,
  { model, stream }: { readonly model: string; readonly stream: boolean },
): string {
  const json = paramsCodec.encode(withoutShadowing(params));
  if (!isObject(json)) throw new Error('the parameters are not an object');
  json['model'] = model;
  json['stream'] = stream;
  if (stream) {
    const options = json['stream_options'];
    json['stream_options'] = { ...(isObject(options) ? options : {}), include_usage: true };
  }
  return JSON.stringify(json);
}

/**
 * Removes unknown parameters with the name of a known one: over gRPC a client could set an unchecked limit there. `null` and
 * empty values stay, as they have no field of their own.
 */
function withoutShadowing(params: ChatCompletionParams): ChatCompletionParams {
  const other = Object.entries(params.other ?? {});
  const kept = other.filter(([name, value]) => !paramNames.has(name) || isEmpty(value));
  return kept.length === other.length ? params : { ...params, other: Object.fromEntries(kept) };
}

function isEmpty(value: JsonValue): boolean {
  return value === null || (typeof value === 'object' && Object.keys(value).length === 0);
}

/** @throws `upstream_error` if it is an error or malformed */
export function readAnswer(json: unknown): ChatAnswer {
  return answerCodec.decode(checkAnswer(json));
}

/** @throws `upstream_error` if it is an error or malformed */
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
  if (!isObject(json)) throw malformedResponse('the answer is not an object');
  if (json['error'] != null || json['object'] === 'error') throw reportedError(JSON.stringify(json));
  return json;
}
