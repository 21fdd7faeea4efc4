/** The response of an RPC, from its HTTP body: the whole message, or the field that its HTTP rule names. */
import {
  create,
  type DescMessage,
  type DescMethodUnary,
  type JsonValue,
  type Message,
} from '@bufbuild/protobuf';
import { jsonCodec } from '../../src/codec/codec.ts';
import { httpRule } from '../../src/codec/http-rule.ts';

export function decodeBody(method: DescMethodUnary<DescMessage, DescMessage>, body: JsonValue): Message {
  const { responseBody } = httpRule(method);
  const { output } = method;
  const field = output.fields.find(({ name }) => name === responseBody);
  if (field?.fieldKind !== 'message') return jsonCodec(output).decodeLeniently(body);
  const response = create(output);
  Reflect.set(response, field.localName, jsonCodec(field.message).decodeLeniently(body));
  return response;
}
