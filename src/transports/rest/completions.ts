import { create, type JsonObject } from '@bufbuild/protobuf';
import {
  type Completion,
  CompletionParamsSchema,
  CompletionSchema,
  CreateCompletionRequestSchema,
  StreamCompletionRequestSchema,
} from '../../../gen/parley/completions/v1/completions_pb.ts';
import { jsonCodec } from '../../codec/codec.ts';
import { isObject } from '../../codec/shape.ts';
import { type RpcTable, requestShape } from '../../core/rpcs.ts';
import { ParleyError } from '../../core/values/errors.ts';
import type { RestHandler } from './exchange.ts';
import { accept, type RestLimits, readJson, readStream, requireMembers } from './request.ts';
import { replayHeaders, sendEvents, sseDone, withUsageMember } from './response.ts';

const paramsCodec = jsonCodec(CompletionParamsSchema);
const completionCodec = jsonCodec(CompletionSchema);

/** POST /completions: `stream` chooses the RPC. */
export function completionsHandler(
  { createCompletion, streamCompletion }: RpcTable,
  { chatBodyBytesMax, requestElementsMax }: RestLimits,
): RestHandler {
  const limits = { bytesMax: chatBodyBytesMax, elementsMax: requestElementsMax, ...requestShape };
  return async (exchange) => {
    const { served } = exchange;
    const { params, isStreamed } = await served.read(async (call) => {
      const { stream, ...body } = await readJson(exchange, call, limits);
      requireMembers(body, { model: 'missing_model' });
      const decoded = paramsCodec.decode(body);
      const params = accept(decoded, (path) =>
        path.startsWith('prompt') ? 'invalid_input' : 'invalid_parameter',
      );
      return { params, isStreamed: readStream(stream) };
    });
    if (isStreamed) {
      const request = create(StreamCompletionRequestSchema, { params });
      const toData = withUsageMember(encode, params.streamOptions);
      const isWhole = await sendEvents(exchange, served.stream(streamCompletion, request), toData);
      if (isWhole) await exchange.write(sseDone);
      return exchange.end();
    }
    const request = create(CreateCompletionRequestSchema, { params });
    const { completion } = await served.answer(createCompletion, request);
    if (completion === undefined) throw new ParleyError('internal_error');
    exchange.sendJson(200, encode(completion), replayHeaders(served));
  };
}

/** With the members that clients' types promise. */
function encode(completion: Completion): JsonObject {
  const json = completionCodec.encode(completion);
  if (!isObject(json)) throw new Error('a completion is not an object');
  const choices = completion.choices.map(({ text, index, finishReason }) => ({
    ...{ text, index, logprobs: null, finish_reason: finishReason ?? null },
  }));
  return { ...json, choices };
}
