import type { JsonObject, JsonValue } from '@bufbuild/protobuf';
import {
  type CreateResponseResponse,
  type ResponseEvent,
  ResponseEventSchema,
  type ResponseParams,
  ResponseParamsSchema,
  ResponseSchema,
} from '../../../gen/parley/responses/v1/responses_pb.ts';
import { jsonCodec } from '../../codec/codec.ts';
import { objectsOf } from '../../codec/shape.ts';
import type { ErrorCode, ParleyError } from '../../core/values/errors.ts';
import { isObject } from '../../core/values/json.ts';
import { type RestDialect, required } from './dialect.ts';
import { errorBody } from './errors.ts';
import { requireMembers } from './request.ts';
import { sendNamedEvents, sseEvent } from './response.ts';

const lastEvents: ReadonlySet<string> = new Set([
  'response.completed',
  'response.incomplete',
  'response.failed',
]);

const paramsCodec = jsonCodec(ResponseParamsSchema);

/** POST /responses */
export const responses: RestDialect<ResponseParams, CreateResponseResponse, ResponseEvent> = {
  read: readParams,
  encode: ({ response }) => completed(responseCodec.encode(required(response))),
  send: (exchange, events) => sendNamedEvents(exchange, events, eventForm()),
};

function readParams(body: JsonObject): ResponseParams {
  requireMembers(body, { model: 'missing_model' });
  for (const item of objectsOf(body['input'])) asTexts(item);
  dropNoTools(body['tools']);
  return paramsCodec.decode(body, codeOf);
}

/** The answer repeats the tools, whose own `tools` are a list there. */
function dropNoTools(tools: JsonValue | undefined): void {
  for (const tool of objectsOf(tools)) {
    if (tool['tools'] === null) delete tool['tools'];
    dropNoTools(tool['tools']);
  }
}

/** Calls of built-in tools and their outputs have values of any kind where those of functions have texts. */
function asTexts(item: JsonObject): void {
  const { type } = item;
  if (typeof type !== 'string' || !/_(call|output)$/.test(type) || /^(function|custom_tool)_/.test(type))
    return;
  for (const name of ['arguments', 'output']) {
    const value = item[name];
    if (value != null && typeof value !== 'string') item[name] = JSON.stringify(value);
  }
}

function codeOf(path: string): ErrorCode {
  return path === 'input' || path.startsWith('input[') ? 'invalid_input' : 'invalid_parameter';
}

/**
 * An error has the number after the last event. Some clients read its members here, others in `error`. One event ends a
 * stream: none follows `response.failed`.
 */
function eventForm() {
  let next = 0;
  let hasEnded = false;
  return {
    toEvent: (event: ResponseEvent) => {
      next = event.sequenceNumber + 1;
      hasEnded = lastEvents.has(event.type);
      return sseEvent(JSON.stringify(encodeEvent(event)), event.type);
    },
    toError: (thrown: ParleyError) => {
      if (hasEnded) return undefined;
      const { error } = errorBody(thrown);
      const { code, message, param } = error;
      const data = { type: 'error', sequence_number: next, code, message, param, error };
      return sseEvent(JSON.stringify(data), 'error');
    },
  };
}

const promisedInResponse: JsonObject = {
  error: null,
  incomplete_details: null,
  usage: null,
  instructions: null,
  metadata: {},
  temperature: null,
  top_p: null,
  top_logprobs: null,
  max_output_tokens: null,
  reasoning: { effort: null, summary: null },
  previous_response_id: null,
  access_programs: null,
};
/** By the type of an item, a part, an event or a tool. */
const promisedByType: ReadonlyMap<unknown, JsonObject> = new Map<string, JsonObject>([
  ['function', { parameters: null, strict: null }],
  ['reasoning', { summary: [] }],
  ['output_text', { annotations: [], logprobs: [] }],
  ['response.output_text.delta', { logprobs: [] }],
  ['response.output_text.done', { logprobs: [] }],
]);

const responseCodec = jsonCodec(ResponseSchema);
const eventCodec = jsonCodec(ResponseEventSchema);

export function encodeEvent(event: ResponseEvent): JsonObject {
  const json = typed(eventCodec.encode(event));
  const { response, item, part } = json;
  if (isObject(response)) completed(response);
  if (isObject(item)) withParts(item);
  if (isObject(part)) typed(part);
  return json;
}

function completed(json: JsonValue): JsonObject {
  const response = given(json, promisedInResponse);
  for (const item of listOf(response['output'])) withParts(item);
  for (const tool of listOf(response['tools'])) typed(tool);
  return response;
}

function withParts(json: JsonValue): void {
  for (const part of listOf(typed(json)['content'])) typed(part);
}

function typed(json: JsonValue): JsonObject {
  const type = isObject(json) ? json['type'] : undefined;
  return given(json, promisedByType.get(type) ?? {});
}

/** Adds required members that are absent. The JSON is the encoder's own. */
function given(json: JsonValue, promised: JsonObject): JsonObject {
  if (!isObject(json)) throw new Error('an answer is not an object');
  for (const [name, value] of Object.entries(promised)) json[name] ??= value;
  return json;
}

function listOf(json: JsonValue | undefined): readonly JsonValue[] {
  return Array.isArray(json) ? json : [];
}
