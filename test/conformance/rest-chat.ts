import { create, type JsonObject, type JsonValue, type Message } from '@bufbuild/protobuf';
import {
  ChatCompletionChunkSchema,
  ChatCompletionParamsSchema,
  type CreateChatCompletionRequest,
  type StreamChatCompletionRequest,
  StreamChatCompletionResponseSchema,
} from '../../gen/parley/chat/v1/chat_pb.ts';
import { jsonCodec } from '../../src/codec/codec.ts';
import type { HttpAnswer } from './http-client.ts';
import type { ReadAnswer, RestCall } from './rest-call.ts';
import { readEvents } from './sse.ts';

const paramsCodec = jsonCodec(ChatCompletionParamsSchema);
const chunkCodec = jsonCodec(ChatCompletionChunkSchema);

export function chatRequest(request: Message, stream: boolean): RestCall {
  const { params } = request as CreateChatCompletionRequest | StreamChatCompletionRequest;
  const json = paramsCodec.encode(params ?? create(ChatCompletionParamsSchema)) as JsonObject;
  const body = JSON.stringify({ ...json, ...(stream && { stream }) });
  return { method: 'POST', path: '/api/v1/chat/completions', body, contentType: 'application/json' };
}

/** Chunks as events, then `[DONE]`: without it the answer is cut. */
export function readChatStream(answer: HttpAnswer): ReadAnswer {
  const { events, error, isDone } = readEvents(answer);
  if (!isDone && error === undefined && !answer.isCut) throw new Error('the stream ended without a word');
  const chunks = events.map((event) => chunkCodec.decodeLeniently(event as JsonValue).message);
  return {
    messages: chunks.map((chunk) => create(StreamChatCompletionResponseSchema, { chunk })),
    error,
  };
}
