/** Sends the Responses API over REST. */
import { create, type JsonObject, type JsonValue, type Message } from '@bufbuild/protobuf';
import {
  type CreateResponseRequest,
  CreateResponseResponseSchema,
  ResponseEventSchema,
  ResponseParamsSchema,
  ResponseSchema,
  type StreamResponseRequest,
  StreamResponseResponseSchema,
} from '../../gen/parley/responses/v1/responses_pb.ts';
import { jsonCodec } from '../../src/codec/codec.ts';
import type { HttpAnswer } from './http-client.ts';
import { jsonOf, type ReadAnswer, type RestCall, readEvents } from './rest-operations.ts';

const paramsCodec = jsonCodec(ResponseParamsSchema);
const responseCodec = jsonCodec(ResponseSchema);
const eventCodec = jsonCodec(ResponseEventSchema);

export function responseRequest(request: Message, stream: boolean): RestCall {
  const { params } = request as CreateResponseRequest | StreamResponseRequest;
  const json = paramsCodec.encode(params ?? create(ResponseParamsSchema)) as JsonObject;
  const body = JSON.stringify({ ...json, ...(stream && { stream }) });
  return { method: 'POST', path: '/api/v1/responses', body, contentType: 'application/json' };
}

export function readResponse(answer: HttpAnswer): ReadAnswer {
  const response = responseCodec.decodeLeniently(withoutPromised(jsonOf(answer)));
  return { messages: [create(CreateResponseResponseSchema, { response })] };
}

/** Reads events that have their type as their name, up to one that ends the answer. */
export function readResponseStream(answer: HttpAnswer): ReadAnswer {
  const { events, names, error } = readEvents(answer);
  const messages = events.map((json, index) => {
    const event = eventCodec.decodeLeniently(withoutPromised(json as JsonValue));
    if (event.type !== names[index]) throw new Error(`${event.type} is sent as ${names[index]}`);
    return create(StreamResponseResponseSchema, { event });
  });
  const ends = messages.filter(({ event }) => endTypes.test(event?.type ?? ''));
  const [end] = ends;
  if (ends.length + (error ? 1 : 0) + (answer.isCut ? 1 : 0) !== 1)
    throw new Error('the stream does not end once');
  const failure = end?.event?.response?.error;
  return {
    messages,
    error: failure ? { ...failure, code: failure.reason, type: failure.code, param: null } : error,
  };
}

const endTypes = /^response\.(completed|incomplete|failed)$/;

/** Members for which REST sends empty lists. */
const promisedLists: ReadonlySet<string> = new Set(['annotations', 'logprobs', 'summary']);

/** Removes the nulls and the empty lists that REST writes for missing values. */
function withoutPromised(json: JsonValue): JsonValue {
  if (Array.isArray(json)) return json.map(withoutPromised);
  if (typeof json !== 'object' || json === null) return json;
  const members = Object.entries(json)
    .map(([name, value]): [string, JsonValue] => [name, withoutPromised(value)])
    .filter(([name, value]) => value !== null && !isPromised(name, value));
  return Object.fromEntries(members);
}

function isPromised(name: string, value: JsonValue): boolean {
  if (name === 'reasoning') return Object.keys(value as JsonObject).length === 0;
  return promisedLists.has(name) && Array.isArray(value) && value.length === 0;
}
