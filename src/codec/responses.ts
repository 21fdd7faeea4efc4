/** The JSON of answers of the Responses API, with all members that its clients' types require. */
import type { JsonObject, JsonValue } from '@bufbuild/protobuf';
import {
  type Response,
  type ResponseEvent,
  ResponseEventSchema,
  ResponseSchema,
} from '../../gen/parley/responses/v1/responses_pb.ts';
import { isObject } from '../core/values/json.ts';
import { jsonCodec } from './codec.ts';

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

export function encodeResponse(response: Response): JsonObject {
  return completed(responseCodec.encode(response));
}

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
