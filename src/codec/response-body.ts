/** The HTTP body of an RPC's response: the whole message, or the field that its HTTP rule names. */
import {
  create,
  type DescField,
  type DescMessage,
  type DescMethodUnary,
  type JsonValue,
  type MessageShape,
} from '@bufbuild/protobuf';
import { ParleyError } from '../core/values/errors.ts';
import { jsonCodec } from './codec.ts';
import { httpRule } from './http-rule.ts';

interface ResponseBodyCodec<T> {
  /** @throws `internal_error` if the field that is the body is not set */
  encode(response: T): JsonValue;
  /** Decodes the body of a server that may be newer: ignores members that it adds. */
  decode(body: JsonValue): T;
}

export function responseBodyCodec<O extends DescMessage>(
  method: DescMethodUnary<DescMessage, O>,
): ResponseBodyCodec<MessageShape<O>> {
  const { responseBody } = httpRule(method);
  const { output } = method;
  if (responseBody === '') {
    const codec = jsonCodec(output);
    return { encode: codec.encode, decode: (body) => codec.decodeLeniently(body) };
  }
  const field = messageField(output, responseBody);
  const codec = jsonCodec(field.message);
  return {
    encode: (response) => {
      const member: unknown = Reflect.get(response, field.localName);
      if (member === undefined) throw new ParleyError('internal_error');
      return codec.encode(member as MessageShape<DescMessage>);
    },
    decode: (body) => {
      const response = create(output);
      Reflect.set(response, field.localName, codec.decodeLeniently(body));
      return response;
    },
  };
}

function messageField(
  message: DescMessage,
  name: string,
): DescField & { readonly fieldKind: 'message'; readonly message: DescMessage } {
  const field = message.fields.find((candidate) => candidate.name === name);
  if (field?.fieldKind === 'message') return field;
  throw new Error(`${message.typeName} has no message field ${name}`);
}
