/** Calls an RPC over the REST path that its schema states. */
import type { DescMessage, DescMethodUnary, JsonObject, JsonValue, MessageShape } from '@bufbuild/protobuf';
import { jsonCodec } from '../../codec/codec.ts';
import { httpRule } from '../../codec/http-rule.ts';
import { responseBodyCodec } from '../../codec/response-body.ts';
import { basePath } from '../../core/base-path.ts';
import { type Server, type ServerCall, sendForJson } from './http-client.ts';

/** @throws ServerError, CliError */
export async function callRest<I extends DescMessage, O extends DescMessage>(
  server: Server,
  method: DescMethodUnary<I, O>,
  request: MessageShape<I>,
  signal?: AbortSignal,
): Promise<MessageShape<O>> {
  const call = toHttp(method, jsonCodec(method.input).encode(request));
  return responseBodyCodec(method).decode(await sendForJson(server, { ...call, signal }));
}

/** Members that the path names go there; the others are the body, or the query where there is none. */
function toHttp(method: DescMethodUnary<DescMessage, DescMessage>, request: JsonValue): ServerCall {
  const { verb, path, pathFields, body } = httpRule(method);
  const members = new Map(Object.entries(request ?? {}));
  const filled = path.slice(basePath.length).replace(/:(\w+)/g, (_, parameter: string) => {
    const field = pathFields.get(parameter) ?? parameter;
    const value = members.get(field);
    members.delete(field);
    return encodeURIComponent(String(value));
  });
  if (body === '*') return { verb, path: filled, json: Object.fromEntries(members) satisfies JsonObject };
  const query = new URLSearchParams();
  for (const [name, value] of members) {
    for (const item of [value].flat()) query.append(name, String(item));
  }
  return { verb, path: filled, query };
}
