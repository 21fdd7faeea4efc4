/** The HTTP body of an RPC's response: the whole message, or the field that its HTTP rule names. */
import type { DescMessage, DescMethodUnary, JsonValue, MessageShape } from '@bufbuild/protobuf';
import { ParleyError } from '../core/values/errors.ts';
import { jsonCodec } from './codec.ts';
import { httpRule } from './http-rule.ts';

interface ResponseBodyCodec<T> {
  /** @throws `internal_error` if the field that is the body is not set */
  encode(response: T): JsonValue;
}

export function responseBodyCodec<O extends DescMessage>(
  method: DescMethodUnary<DescMessage, O>,
): ResponseBodyCodec<MessageShape<O>> {
  const { responseBody } = httpRule(method);
  const { output } = method;
  if (responseBody === '') return jsonCodec(output);
  const field = output.fields.find(({ name }) => name === responseBody);
  if (field?.fieldKind !== 'message') throw new Error(`${output.typeName} has no message ${responseBody}`);
  const codec = jsonCodec(field.message);
  return {
    encode: (response) => {
      const member: unknown = Reflect.get(response, field.localName);
      if (member === undefined) throw new ParleyError('internal_error');
      return codec.encode(member as MessageShape<DescMessage>);
    },
  };
}
