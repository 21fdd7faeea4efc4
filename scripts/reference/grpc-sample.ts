/** The request of an RPC that does the same as the example of its REST path. */
import { type DescMethod, type JsonObject, type Registry, ScalarType, toJson } from '@bufbuild/protobuf';
import { jsonCodec } from '../../src/codec/codec.ts';
import { httpRule } from '../../src/codec/http-rule.ts';

/** @param example the members of the path and of the body of the REST example */
export function grpcSample(
  method: DescMethod,
  example: { readonly path: JsonObject; readonly body: JsonObject },
  registry: Registry,
): JsonObject {
  const rpc = `${method.parent.typeName}/${method.name}`;
  // The REST form sends files as parts of a form, which are no JSON.
  if (method.input.fields.some(({ scalar }) => scalar === ScalarType.BYTES)) return { rpc };
  const { body } = httpRule(method);
  const isNested = body !== '' && body !== '*';
  const members = { ...(isNested ? { [body]: example.body } : example.body), ...example.path };
  const request = toJson(method.input, jsonCodec(method.input).decode(members), {
    registry,
    useProtoFieldName: true,
  });
  return { rpc, ...(isEmpty(request) ? {} : { request }) };
}

function isEmpty(request: unknown): boolean {
  return JSON.stringify(request) === '{}';
}
