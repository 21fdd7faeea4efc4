/** Chat messages to the JSON that upstreams take, and back. What nobody has named yet keeps its place both ways. */
import type { JsonObject, JsonValue } from '@bufbuild/protobuf';
import {
  type ChatCompletion,
  type ChatCompletionChunk,
  ChatCompletionChunkSchema,
  type ChatCompletionParams,
  ChatCompletionParamsSchema,
  ChatCompletionSchema,
} from '../../../gen/parley/chat/v1/chat_pb.ts';
import { type JsonCodec, jsonCodec } from '../../json/codec.ts';
import { nonsense, upstreamSaid } from './failures.ts';

const paramsCodec = jsonCodec(ChatCompletionParamsSchema);
const completionCodec = jsonCodec(ChatCompletionSchema);
const chunkCodec = jsonCodec(ChatCompletionChunkSchema);
const paramNames = new Set(ChatCompletionParamsSchema.fields.map(({ jsonName }) => jsonName));

/** The body of a request. Usage is asked for whatever the client said: without it its tokens would be guessed. */
export function toUpstreamParams(
  params: ChatCompletionParams,
  { model, stream }: { readonly model: string; readonly stream: boolean },
): string {
  const json = paramsCodec.encode(withoutDisguised(params));
  if (!isObject(json)) throw new Error('the parameters are no object');
  json['model'] = model;
  json['stream'] = stream;
  if (stream) {
    const options = json['stream_options'];
    json['stream_options'] = { ...(isObject(options) ? options : {}), include_usage: true };
  }
  return JSON.stringify(json);
}

/**
 * The same without unknown parameters that bear the name of a known one: over gRPC a limit could be set there that nobody
 * has checked. `null` and what is empty has no field and stays.
 */
function withoutDisguised(params: ChatCompletionParams): ChatCompletionParams {
  const other = Object.entries(params.other ?? {});
  const honest = other.filter(([name, value]) => !paramNames.has(name) || saysNothing(value));
  return honest.length === other.length ? params : { ...params, other: Object.fromEntries(honest) };
}

function saysNothing(value: JsonValue): boolean {
  return value === null || (typeof value === 'object' && Object.keys(value).length === 0);
}

/** @throws `upstream_error` where it is no completion but an error or nonsense */
export function readCompletion(json: unknown): ChatCompletion {
  return read(json, completionCodec);
}

/** @throws `upstream_error` where it is no chunk but an error or nonsense */
export function readChunk(data: string): ChatCompletionChunk {
  let json: unknown;
  try {
    json = JSON.parse(data);
  } catch (cause) {
    throw nonsense('an event is not JSON', cause);
  }
  return read(json, chunkCodec);
}

function read<T>(json: unknown, codec: JsonCodec<T>): T {
  if (!isObject(json)) throw nonsense('the answer is no object');
  if (json['error'] != null || json['object'] === 'error') throw upstreamSaid(JSON.stringify(json));
  // Written here, as the catalog and the meter have it: what an upstream says in its own way must not stand in their place.
  if (typeof json['usage'] !== 'object' || json['usage'] === null) delete json['usage'];
  if (typeof json['model'] !== 'string') delete json['model'];
  return codec.decodeLeniently(json).message;
}

function isObject(json: unknown): json is JsonObject {
  return typeof json === 'object' && json !== null && !Array.isArray(json);
}
