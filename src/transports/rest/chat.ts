import type { JsonObject } from '@bufbuild/protobuf';
import {
  type ChatCompletionParams,
  ChatCompletionParamsSchema,
} from '../../../gen/parley/chat/v1/chat_pb.ts';
import { answerCodec } from '../../codec/chat-answer.ts';
import { jsonCodec } from '../../codec/codec.ts';
import { chunkJson } from '../../codec/spliced-chunk.ts';
import type { ChatAnswer, ChatChunk } from '../../core/entities/chat-answer.ts';
import type { ErrorCode } from '../../core/values/errors.ts';
import { withDoubles } from '../../core/values/long-integers.ts';
import type { RestDialect } from './dialect.ts';
import { requireMembers } from './request.ts';
import { sendChunks } from './response.ts';

/**
 * The members that Parley itself uses. All others reach the model unchanged, as it may accept more types than the
 * schema.
 */
const reliedMembers = /^(model|n|max_tokens|max_completion_tokens|messages(\[\d+\](\.(role|content))?)?)$/;

const numberNames = ['n', 'max_tokens', 'max_completion_tokens'];

const paramsCodec = jsonCodec(ChatCompletionParamsSchema);

/** POST /chat/completions */
export const chat: RestDialect<ChatCompletionParams, ChatAnswer, ChatChunk> = {
  read: readParams,
  encode: answerCodec.encode,
  send: (exchange, chunks, { streamOptions }) => sendChunks(exchange, chunks, chunkJson, streamOptions),
};

function readParams(body: JsonObject): ChatCompletionParams {
  requireMembers(body, { model: 'missing_model', messages: 'missing_messages' });
  // Parley computes with these values.
  for (const name of numberNames) if (name in body) body[name] = withDoubles(body[name] ?? null);
  return paramsCodec.decode(body, (path) => (reliedMembers.test(path) ? codeOf(path) : undefined));
}

function codeOf(path: string): ErrorCode {
  return path === 'messages' || path.startsWith('messages[') ? 'invalid_messages' : 'invalid_parameter';
}
