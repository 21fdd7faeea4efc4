/** Turns chat messages into the JSON of the OpenAI API, and back. Unknown fields keep their place in both directions. */
import type { JsonObject } from '@bufbuild/protobuf';
import {
  type ChatCompletionParams,
  ChatCompletionParamsSchema,
} from '../../../../gen/parley/chat/v1/chat_pb.ts';
import { answerCodec, chunkCodec } from '../../../codec/chat-answer.ts';
import { jsonCodec } from '../../../codec/codec.ts';
import { JsonScan } from '../../../codec/json-scan.ts';
import { parseJson } from '../../../codec/parse-json.ts';
import { objectsOf } from '../../../codec/shape.ts';
import type { ChatAnswer, ChatChunk } from '../../../core/entities/chat-answer.ts';
import { bounds } from '../../../core/values/bounds.ts';
import type { ParleyError } from '../../../core/values/errors.ts';
import { isObject, wellFormedJson } from '../../../core/values/json.ts';
import { answerLimits, harmlessBytes } from '../../answer-limits.ts';
import { malformedResponse, refuseExcess } from '../errors.ts';
import { CallNumbers } from './call-numbers.ts';
import { giveBack, MessageChunks, usualForm } from './choice-forms.ts';
import type { LimitNames } from './limit-names.ts';
import { applyParameters, type ChatParameters } from './operator-members.ts';

const paramsCodec = jsonCodec(ChatCompletionParamsSchema);

export interface UpstreamForm {
  /** The upstream's name of the model. */
  readonly model: string;
  readonly stream: boolean;
  readonly limitNames: LimitNames;
  readonly parameters: ChatParameters;
  readonly takesDeveloper: boolean;
}

/** The body of a request. Always asks for usage, so that tokens need not be counted here. */
export function toUpstreamParams(
  params: ChatCompletionParams,
  { model, stream, limitNames, parameters, takesDeveloper }: UpstreamForm,
): Buffer {
  const json = paramsCodec.encode(underName(params, limitNames));
  if (!isObject(json)) throw new Error('the parameters are not an object');
  applyParameters(json, parameters);
  for (const message of objectsOf(json['messages'])) {
    if (!takesDeveloper && message['role'] === 'developer') message['role'] = 'system';
    giveBack(message);
  }
  json['model'] = model;
  json['stream'] = stream;
  if (stream) {
    const options = json['stream_options'];
    json['stream_options'] = { ...(isObject(options) ? options : {}), include_usage: true };
  }
  // As bytes, because a string would be kept beside them until the request ends.
  return Buffer.from(wellFormedJson(json));
}

/** Moves the limit to the names that the upstream accepts. Other names would be ignored or refused. */
function underName(params: ChatCompletionParams, names: LimitNames): ChatCompletionParams {
  const { maxTokens, maxCompletionTokens } = params;
  const limit = maxTokens ?? maxCompletionTokens;
  const asOld = names === 'max_completion_tokens' ? undefined : limit;
  const asNew = names === 'max_tokens' ? undefined : limit;
  if (maxTokens === asOld && maxCompletionTokens === asNew) return params;
  return { ...params, maxTokens: asOld, maxCompletionTokens: asNew };
}

/** Creates the error that the JSON of an answer reports. */
export type Report = (body: string) => ParleyError;

/** @throws `upstream_error` if the answer is an error or malformed */
export function readAnswer(json: unknown, report: Report): ChatAnswer {
  return answerCodec.decode(checkAnswer(json, report));
}

/**
 * @param numbers those of the calls in its stream
 * @param messages the messages in its stream
 * @throws `upstream_error` if the chunk is an error or malformed
 */
export function readChunk(
  data: string,
  report: Report,
  numbers = new CallNumbers(),
  messages = new MessageChunks(),
): ChatChunk {
  const json = readWhole(data);
  const checked = checkAnswer(json, report);
  messages.give(checked);
  const chunk = chunkCodec.decode(checked);
  numbers.give(checked);
  return chunk;
}

/** Removes a byte order mark. */
const utf8 = new TextDecoder();

/** Reads JSON within the bounds of answers. @throws `upstream_error` if it is not JSON, or exceeds one */
export function readWhole(data: string | Buffer): unknown {
  if (data.length > harmlessBytes) refuseExcess(new JsonScan(answerLimits).read(Buffer.from(data)));
  try {
    return parseJson(typeof data === 'string' ? data : utf8.decode(data));
  } catch (cause) {
    throw malformedResponse('an event is not JSON', cause);
  }
}

function checkAnswer(json: unknown, report: Report): JsonObject {
  if (!isObject(json)) throw malformedResponse('the answer is not an object');
  if (json['error'] != null || json['object'] === 'error') throw report(JSON.stringify(json));
  // A reader of a stream keeps data for each number of a choice: the numbers have a bound. Some servers count from 1.
  const { maximum } = bounds.choices;
  const { choices } = json;
  let isTooMany = Array.isArray(choices) && choices.length > maximum;
  for (const { index, finish_reason: reason } of objectsOf(choices)) {
    if (reason === 'error') throw report(JSON.stringify(json));
    isTooMany ||= typeof index === 'number' && !(Number.isInteger(index) && index >= 0 && index <= maximum);
  }
  if (isTooMany) throw malformedResponse(`the answer has more than ${maximum} choices`);
  usualForm(json);
  return json;
}
