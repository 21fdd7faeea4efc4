/** Sends legacy completions over REST. */
import { create, type JsonObject, type JsonValue, type Message } from '@bufbuild/protobuf';
import {
  CompletionParamsSchema,
  CompletionSchema,
  type CreateCompletionRequest,
  CreateCompletionResponseSchema,
  type StreamCompletionRequest,
  StreamCompletionResponseSchema,
} from '../../gen/parley/completions/v1/completions_pb.ts';
import { jsonCodec } from '../../src/codec/codec.ts';
import type { HttpAnswer } from './http-client.ts';
import { jsonOf, type ReadAnswer, type RestCall, readEvents } from './rest-operations.ts';

const paramsCodec = jsonCodec(CompletionParamsSchema);
const completionCodec = jsonCodec(CompletionSchema);

export function completionRequest(request: Message, stream: boolean): RestCall {
  const { params } = request as CreateCompletionRequest | StreamCompletionRequest;
  const json = paramsCodec.encode(params ?? create(CompletionParamsSchema)) as JsonObject;
  const body = JSON.stringify({ ...json, ...(stream && { stream }) });
  return { method: 'POST', path: '/api/v1/completions', body, contentType: 'application/json' };
}

export function readCompletion(answer: HttpAnswer): ReadAnswer {
  const completion = completionCodec.decodeLeniently(jsonOf(answer));
  return { messages: [create(CreateCompletionResponseSchema, { completion })] };
}

/** Reads pieces from events up to `[DONE]`. Without it the answer is cut. */
export function readCompletionStream(answer: HttpAnswer): ReadAnswer {
  const { events, error, isDone } = readEvents(answer);
  if (!isDone && error === undefined && !answer.isCut) throw new Error('the stream ended without a word');
  const messages = events.map((event) => {
    const completion = completionCodec.decodeLeniently(event as JsonValue);
    return create(StreamCompletionResponseSchema, { completion });
  });
  return { messages, error };
}
