/** Sends the Messages API over REST. */
import { create, type JsonObject, type JsonValue, type Message } from '@bufbuild/protobuf';
import {
  type CountMessageTokensRequest,
  CountMessageTokensResponseSchema,
  type CreateMessageRequest,
  CreateMessageResponseSchema,
  MessageEventSchema,
  MessageParamsSchema,
  MessageSchema,
  MessageTokensSchema,
  type StreamMessageRequest,
  StreamMessageResponseSchema,
} from '../../gen/parley/messages/v1/messages_pb.ts';
import { jsonCodec } from '../../src/codec/codec.ts';
import type { HttpAnswer } from './http-client.ts';
import { jsonOf, type ReadAnswer, type RestCall, readEvents } from './rest-operations.ts';

const paramsCodec = jsonCodec(MessageParamsSchema);
const messageCodec = jsonCodec(MessageSchema);
const eventCodec = jsonCodec(MessageEventSchema);
const tokensCodec = jsonCodec(MessageTokensSchema);

export function messageRequest(request: Message, stream: boolean, path = '/api/v1/messages'): RestCall {
  const { params } = request as CreateMessageRequest | StreamMessageRequest | CountMessageTokensRequest;
  const json = paramsCodec.encode(params ?? create(MessageParamsSchema)) as JsonObject;
  const body = JSON.stringify({ ...json, ...(stream && { stream }) });
  return { method: 'POST', path, body, contentType: 'application/json' };
}

export function readMessage(answer: HttpAnswer): ReadAnswer {
  const message = messageCodec.decodeLeniently(jsonOf(answer));
  return { messages: [create(CreateMessageResponseSchema, { message })] };
}

/** Reads events that have their type as their name. */
export function readMessageStream(answer: HttpAnswer): ReadAnswer {
  const { events, names, error } = readEvents(answer);
  const messages = events.map((json, index) => {
    const event = eventCodec.decodeLeniently(json as JsonValue);
    if (event.type !== names[index]) throw new Error(`${event.type} is sent as ${names[index]}`);
    return create(StreamMessageResponseSchema, { event });
  });
  const hasEnded = messages.at(-1)?.event?.type === 'message_stop';
  if (hasEnded === (error !== undefined || answer.isCut)) throw new Error('the stream does not end once');
  return { messages, error };
}

export function readTokens(answer: HttpAnswer): ReadAnswer {
  const tokens = tokensCodec.decodeLeniently(jsonOf(answer));
  return { messages: [create(CountMessageTokensResponseSchema, { tokens })] };
}
