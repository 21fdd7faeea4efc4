import type { JsonObject } from '@bufbuild/protobuf';
import {
  type Completion,
  type CompletionParams,
  CompletionParamsSchema,
  CompletionSchema,
  type CreateCompletionResponse,
} from '../../../gen/parley/completions/v1/completions_pb.ts';
import { jsonCodec } from '../../codec/codec.ts';
import { isObject } from '../../core/values/json.ts';
import { type RestDialect, required } from './dialect.ts';
import { requireMembers } from './request.ts';
import { sendChunks } from './response.ts';

const paramsCodec = jsonCodec(CompletionParamsSchema);
const completionCodec = jsonCodec(CompletionSchema);

/** POST /completions */
export const completions: RestDialect<CompletionParams, CreateCompletionResponse, Completion> = {
  read: readParams,
  encode: ({ completion }) => encode(required(completion)),
  send: (exchange, chunks, { streamOptions }) => sendChunks(exchange, chunks, toChunkJson, streamOptions),
};

function readParams(body: JsonObject): CompletionParams {
  requireMembers(body, { model: 'missing_model' });
  return paramsCodec.decode(body, (path) =>
    path.startsWith('prompt') ? 'invalid_input' : 'invalid_parameter',
  );
}

/** With the members that clients' types require. */
function encode(completion: Completion): JsonObject {
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
