import { create, type JsonObject, type JsonValue } from '@bufbuild/protobuf';
import {
  type ChatCompletionParams,
  ChatCompletionParamsSchema,
  CreateChatCompletionRequestSchema,
  StreamChatCompletionRequestSchema,
} from '../../../gen/parley/chat/v1/chat_pb.ts';
import { answerCodec, chunkCodec } from '../../codec/chat-answer.ts';
import { jsonCodec } from '../../codec/codec.ts';
import type { Call } from '../../core/call.ts';
import type { ChatOperations } from '../../core/chat/service.ts';
import { type ErrorCode, ParleyError } from '../../core/errors.ts';
import { noteAskedModel } from './asked-model.ts';
import { accept, requireMembers } from './bad-fields.ts';
import type { Exchange } from './exchange.ts';
import { replayHeaders } from './replay.ts';
import { readJson } from './request.ts';
import { sendEvents, sseDone } from './sse.ts';

const paramsCodec = jsonCodec(ChatCompletionParamsSchema);

/** POST /chat/completions: `stream` chooses the RPC. */
export function chatHandler(chat: ChatOperations, bodyBytesMax: number) {
  return async (exchange: Exchange, call: Call): Promise<void> => {
    const { json, bytes } = await readJson(exchange, bodyBytesMax);
    const { stream, ...body } = json;
    call.requestBytes = bytes;
    noteAskedModel(body, call);
    const params = readParams(body);
    if (isStreamed(stream)) return streamAnswer(exchange, call, chat, params);
    const request = create(CreateChatCompletionRequestSchema, { params });
    const answer = await chat.createChatCompletion(request, call);
    exchange.sendJson(200, answerCodec.encode(answer), replayHeaders(call));
  };
}

async function streamAnswer(
  exchange: Exchange,
  call: Call,
  chat: ChatOperations,
  params: ChatCompletionParams,
): Promise<void> {
  const request = create(StreamChatCompletionRequestSchema, { params });
  const chunks = chat.streamChatCompletion(request, call);
  const isWhole = await sendEvents(exchange, chunks, chunkCodec.encode);
  if (isWhole) await exchange.write(sseDone);
  exchange.end();
}

function readParams(body: JsonObject): ChatCompletionParams {
  requireMembers(body, { model: 'missing_model', messages: 'missing_messages' });
  return accept(paramsCodec.decode(body), codeOf);
}

function codeOf(path: string): ErrorCode {
  return path === 'messages' || path.startsWith('messages[') ? 'invalid_messages' : 'invalid_parameter';
}

function isStreamed(stream: JsonValue | undefined): boolean {
  if (stream === undefined || stream === null || typeof stream === 'boolean') return stream === true;
  throw new ParleyError('invalid_parameter', { message: '`stream` must be true or false.', param: 'stream' });
}
