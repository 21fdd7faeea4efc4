import { create, type JsonObject } from '@bufbuild/protobuf';
import {
  type Completion,
  type CompletionParams,
  CompletionParamsSchema,
  CompletionSchema,
  CreateCompletionRequestSchema,
  StreamCompletionRequestSchema,
} from '../../../gen/parley/completions/v1/completions_pb.ts';
import { jsonCodec } from '../../codec/codec.ts';
import type { RpcTable } from '../../core/rpcs.ts';
import { ParleyError } from '../../core/values/errors.ts';
import { isObject } from '../../core/values/json.ts';
import type { RestHandler } from './exchange.ts';
import { accept, type RestLimits, readStreamable, requireMembers } from './request.ts';
import { sendChunks } from './response.ts';

const paramsCodec = jsonCodec(CompletionParamsSchema);
const completionCodec = jsonCodec(CompletionSchema);

/** POST /completions: `stream` chooses the RPC. */
export function completionsHandler(
  { createCompletion, streamCompletion }: RpcTable,
  limits: RestLimits,
): RestHandler {
  return async (exchange) => {
    const { served } = exchange;
    const { params, isStreamed } = await readStreamable(exchange, limits, readParams);
    if (isStreamed) {
      const request = create(StreamCompletionRequestSchema, { params });
      await sendChunks(exchange, served.stream(streamCompletion, request), toChunkJson, params.streamOptions);
      return exchange.end();
    }
    const answer = await served.answer(createCompletion, create(CreateCompletionRequestSchema, { params }));
    exchange.sendJson(200, encode(answer.completion));
  };
}

function readParams(body: JsonObject): CompletionParams {
  requireMembers(body, { model: 'missing_model' });
  return accept(paramsCodec.decode(body), (path) =>
    path.startsWith('prompt') ? 'invalid_input' : 'invalid_parameter',
  );
}

/** With the members that clients' types require. */
function encode(completion: Completion | undefined): JsonObject {
  if (completion === undefined) throw new ParleyError('internal_error');
  const json = completionCodec.encode(completion);
  if (!isObject(json)) throw new Error('a completion is not an object');
  const choices = completion.choices.map(({ text, index, finishReason }) => ({
    text,
    index,
    logprobs: null,
    finish_reason: finishReason ?? null,
  }));
  return { ...json, choices };
}

function toChunkJson(completion: Completion, withUsage: boolean): string {
  const json = encode(completion);
  if (withUsage) json['usage'] ??= null;
  return JSON.stringify(json);
}
