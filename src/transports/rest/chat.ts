import { create, type JsonObject } from '@bufbuild/protobuf';
import {
  type ChatCompletionParams,
  ChatCompletionParamsSchema,
  CreateChatCompletionRequestSchema,
  StreamChatCompletionRequestSchema,
} from '../../../gen/parley/chat/v1/chat_pb.ts';
import { answerCodec } from '../../codec/chat-answer.ts';
import { jsonCodec } from '../../codec/codec.ts';
import { chunkJson } from '../../codec/spliced-chunk.ts';
import type { RpcTable } from '../../core/rpcs.ts';
import type { ErrorCode } from '../../core/values/errors.ts';
import { withDoubles } from '../../core/values/long-integers.ts';
import type { RestHandler } from './exchange.ts';
import { accept, type RestLimits, readStreamable, requireMembers } from './request.ts';
import { sendChunks } from './response.ts';

/**
 * The members that Parley itself uses. All others reach the model unchanged, as it may accept more types than the
 * schema.
 */
const reliedMembers = /^(model|n|max_tokens|max_completion_tokens|messages(\[\d+\](\.(role|content))?)?)$/;

const numberNames = ['n', 'max_tokens', 'max_completion_tokens'];

const paramsCodec = jsonCodec(ChatCompletionParamsSchema);

/** POST /chat/completions: `stream` chooses the RPC. */
export function chatHandler(
  { createChatCompletion, streamChatCompletion }: RpcTable,
  limits: RestLimits,
): RestHandler {
  return async (exchange) => {
    const { served } = exchange;
    const { params, isStreamed } = await readStreamable(exchange, limits, readParams);
    if (isStreamed) {
      const request = create(StreamChatCompletionRequestSchema, { params });
      await sendChunks(
        exchange,
        served.stream(streamChatCompletion, request),
        chunkJson,
        params.streamOptions,
      );
      return exchange.end();
    }
    const answer = await served.answer(
      createChatCompletion,
      create(CreateChatCompletionRequestSchema, { params }),
    );
    exchange.sendJson(200, answerCodec.encode(answer));
  };
}

function readParams(body: JsonObject): ChatCompletionParams {
  requireMembers(body, { model: 'missing_model', messages: 'missing_messages' });
  // Parley computes with these values.
  for (const name of numberNames) if (name in body) body[name] = withDoubles(body[name] ?? null);
  return accept(
    paramsCodec.decode(body, (path) => reliedMembers.test(path)),
    codeOf,
  );
}

function codeOf(path: string): ErrorCode {
  return path === 'messages' || path.startsWith('messages[') ? 'invalid_messages' : 'invalid_parameter';
}
