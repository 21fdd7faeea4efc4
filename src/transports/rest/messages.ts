import { create, type JsonObject, type JsonValue } from '@bufbuild/protobuf';
import {
  CountMessageTokensRequestSchema,
  type CreateMessageResponse,
  type Message,
  type MessageEvent,
  MessageEventSchema,
  type MessageParams,
  MessageParamsSchema,
  MessageSchema,
} from '../../../gen/parley/messages/v1/messages_pb.ts';
import { jsonCodec } from '../../codec/codec.ts';
import type { RpcTable } from '../../core/rpcs.ts';
import type { ErrorCode, ParleyError } from '../../core/values/errors.ts';
import { isObject } from '../../core/values/json.ts';
import { type RestDialect, readStreamable, required } from './dialect.ts';
import type { Exchange, RestHandler } from './exchange.ts';
import { type RestLimits, requireMembers } from './request.ts';
import { sendNamedEvents, sseEvent } from './response.ts';

const paramsCodec = jsonCodec(MessageParamsSchema);

/** POST /messages */
export const messages: RestDialect<MessageParams, CreateMessageResponse, MessageEvent> = {
  read: readParams,
  encode: ({ message }) => encodeMessage(required(message)),
  send: (exchange, events) => sendNamedEvents(exchange, events, eventForm(exchange)),
};

/** POST /messages/count_tokens. `stream` has no effect. */
export function countTokensHandler({ countMessageTokens }: RpcTable, limits: RestLimits): RestHandler {
  return async (exchange) => {
    const { params } = await readStreamable(exchange, limits, readParams);
    const request = create(CountMessageTokensRequestSchema, { params });
    const { tokens } = await exchange.served.answer(countMessageTokens, request);
    exchange.sendJson(200, { input_tokens: tokens?.inputTokens ?? 0 });
  };
}

/** Clients send them in a header. */
function betasOf({ request }: Exchange): string[] {
  const { 'anthropic-beta': betas = [] } = request.headers;
  return [betas].flat().flatMap((list) => list.split(',').map((name) => name.trim()));
}

/** Blocks of search results and of a server's tools have other types here. */
const freeMembers = /^messages\[\d+\](\.content\[\d+\]){1,2}\.(source|content)$/;

function readParams(body: JsonObject, exchange: Exchange): MessageParams {
  requireMembers(body, { model: 'missing_model', messages: 'missing_messages' });
  const params = paramsCodec.decode(body, codeOf);
  params.betas.push(...betasOf(exchange));
  return params;
}

function codeOf(path: string): ErrorCode | undefined {
  if (freeMembers.test(path)) return undefined;
  return /^messages(\[|$)/.test(path) ? 'invalid_messages' : 'invalid_parameter';
}

function eventForm(exchange: Exchange) {
  return {
    ping: sseEvent('{"type":"ping"}', 'ping'),
    toEvent: (event: MessageEvent) => sseEvent(JSON.stringify(encodeMessageEvent(event)), event.type),
    toError: (error: ParleyError) => sseEvent(JSON.stringify(exchange.errorBody(error)), 'error'),
  };
}

const promisedAtEnd: JsonObject = { stop_reason: null, stop_sequence: null };

const messageCodec = jsonCodec(MessageSchema);
const eventCodec = jsonCodec(MessageEventSchema);

export function encodeMessage(message: Message): JsonObject {
  return { ...promisedAtEnd, ...objectOf(messageCodec.encode(message)) };
}

export function encodeMessageEvent(event: MessageEvent): JsonObject {
  const json = objectOf(eventCodec.encode(event));
  if (event.message) return { ...json, message: encodeMessage(event.message) };
  if (event.type !== 'message_delta') return json;
  return { ...json, delta: { ...promisedAtEnd, ...objectOf(json['delta']) } };
}

/** The JSON is the encoder's own. */
function objectOf(json: JsonValue | undefined): JsonObject {
  if (!isObject(json)) throw new Error('an answer is not an object');
  return json;
}
