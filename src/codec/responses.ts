/** The JSON of answers of the Responses API, with all members that its clients' types promise. */
import type { JsonObject, JsonValue } from '@bufbuild/protobuf';
import {
  type Response,
  type ResponseEvent,
  ResponseEventSchema,
  ResponseSchema,
} from '../../gen/parley/responses/v1/responses_pb.ts';
import { jsonCodec } from './codec.ts';
import { isObject } from './shape.ts';

const promisedInResponse: JsonObject = {
  ...{ error: null, incomplete_details: null, usage: null, instructions: null, metadata: {} },
  ...{ temperature: null, top_p: null, top_logprobs: null, max_output_tokens: null },
  ...{ reasoning: { effort: null, summary: null }, previous_response_id: null },
};
const promisedInTool: JsonObject = { parameters: null, strict: null };
/** By the type of an item, a part or an event. */
const promisedByType: Readonly<Record<string, JsonObject>> = {
  reasoning: { summary: [] },
  output_text: { annotations: [], logprobs: [] },
  'response.output_text.delta': { logprobs: [] },
  'response.output_text.done': { logprobs: [] },
};

const responseCodec = jsonCodec(ResponseSchema);
const eventCodec = jsonCodec(ResponseEventSchema);

export function encodeResponse(response: Response): JsonObject {
  return withPromised(responseCodec.encode(response));
}

export function encodeEvent(event: ResponseEvent): JsonObject {
  const json = typed(eventCodec.encode(event));
  const { response, item, part } = json;
  if (isObject(response)) json['response'] = withPromised(response);
  if (isObject(item)) json['item'] = withParts(item);
  if (isObject(part)) json['part'] = typed(part);
  return json;
}

function withPromised(json: JsonValue): JsonObject {
  const response = { ...promisedInResponse, ...objectOf(json) };
  response['output'] = objectsOf(response['output']).map(withParts);
  response['tools'] = objectsOf(response['tools']).map((tool) => ({ ...promisedInTool, ...tool }));
  return response;
}

function withParts(json: JsonObject): JsonObject {
  const item = typed(json);
  if (Array.isArray(item['content'])) item['content'] = objectsOf(item['content']).map(typed);
  return item;
}

function typed(json: JsonValue): JsonObject {
  const object = objectOf(json);
  const { type } = object;
  return { ...(typeof type === 'string' && promisedByType[type]), ...object };
}

function objectOf(json: JsonValue): JsonObject {
  if (isObject(json)) return json;
  throw new Error('an answer is not an object');
}

function objectsOf(json: JsonValue | undefined): readonly JsonObject[] {
  return Array.isArray(json) ? json.map(objectOf) : [];
}
