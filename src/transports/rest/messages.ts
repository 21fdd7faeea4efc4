import { create, type JsonObject } from '@bufbuild/protobuf';
import {
  CountMessageTokensRequestSchema,
  CreateMessageRequestSchema,
  type Message,
  type MessageParams,
  MessageParamsSchema,
  StreamMessageRequestSchema,
} from '../../../gen/parley/messages/v1/messages_pb.ts';
import { jsonCodec } from '../../codec/codec.ts';
import { encodeMessage, encodeMessageEvent } from '../../codec/messages.ts';
import type { RpcTable } from '../../core/rpcs.ts';
import { ParleyError } from '../../core/values/errors.ts';
import type { Exchange, RestHandler } from './exchange.ts';
import { accept, type RestLimits, readStreamable, requireMembers } from './request.ts';
import { sendNamedEvents, sseEvent } from './response.ts';

const paramsCodec = jsonCodec(MessageParamsSchema);

/** POST /messages: `stream` chooses the RPC. */
export function messagesHandler({ createMessage, streamMessage }: RpcTable, limits: RestLimits): RestHandler {
  return async (exchange) => {
    const { served } = exchange;
    const { params, isStreamed } = await readStreamable(exchange, limits, readParams);
    if (isStreamed) {
      const request = create(StreamMessageRequestSchema, { params });
      await sendNamedEvents(exchange, served.stream(streamMessage, request), eventForm(exchange));
      return exchange.end();
    }
    const answer = await served.answer(createMessage, create(CreateMessageRequestSchema, { params }));
    exchange.sendJson(200, encode(answer.message));
  };
}

/** POST /messages/count_tokens. `stream` has no effect. */
export function countTokensHandler({ countMessageTokens }: RpcTable, limits: RestLimits): RestHandler {
  return async (exchange) => {
    const { params } = await readStreamable(exchange, limits, readParams);
    const request = create(CountMessageTokensRequestSchema, { params });
    const { tokens } = await exchange.served.answer(countMessageTokens, request);
    exchange.sendJson(200, { input_tokens: tokens?.inputTokens ?? 0 });
  };
}

function encode(message: Message | undefined): JsonObject {
  if (message === undefined) throw new ParleyError('internal_error');
  return encodeMessage(message);
}

/** Blocks of search results and of a server's tools have other types here. */
const freeMembers = /^messages\[\d+\](\.content\[\d+\]){1,2}\.(source|content)$/;

function readParams(body: JsonObject): MessageParams {
  requireMembers(body, { model: 'missing_model', messages: 'missing_messages' });
  return accept(
    paramsCodec.decode(body, (path) => !freeMembers.test(path)),
    (path) => (/^messages(\[|$)/.test(path) ? 'invalid_messages' : 'invalid_parameter'),
  );
}

function eventForm(exchange: Exchange) {
  return {
    ping: sseEvent('{"type":"ping"}', 'ping'),
    toEvent: (event: Parameters<typeof encodeMessageEvent>[0]) =>
      sseEvent(JSON.stringify(encodeMessageEvent(event)), event.type),
    toError: (error: ParleyError) => sseEvent(JSON.stringify(exchange.errorBody(error)), 'error'),
  };
}
