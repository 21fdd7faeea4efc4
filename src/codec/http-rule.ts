/** The REST path of an RPC, from its `google.api.http` option. */
import {
  type DescMessage,
  type DescMethod,
  type DescMethodUnary,
  getOption,
  hasOption,
  type JsonValue,
  type MessageShape,
} from '@bufbuild/protobuf';
import { http } from '../../gen/google/api/annotations_pb.ts';
import { ParleyError } from '../core/values/errors.ts';
import { jsonCodec } from './codec.ts';

export interface HttpRule {
  readonly verb: 'GET' | 'POST';
  /** In the syntax of the router: `/api/v1/models/*`, `/api/v1/admin/accounts/:account_id`. */
  readonly path: string;
  /** The field for each path parameter, by the router's name of the parameter. */
  readonly pathFields: ReadonlyMap<string, string>;
  /** The field of the request that is the body, `*` for the whole message, or empty for no body. */
  readonly body: string;
  /** The field of the response that is the body, or empty for the whole message. */
  readonly responseBody: string;
}

export function httpRule(method: DescMethod): HttpRule {
  if (!hasOption(method, http)) throw new Error(`${method} has no google.api.http option`);
  const { pattern, body, responseBody } = getOption(method, http);
  if (pattern.case !== 'get' && pattern.case !== 'post') {
    throw new Error(`${method}: the REST layer knows get and post, not ${pattern.case}`);
  }
  const pathFields = new Map<string, string>();
  const path = pattern.value.replace(/\{(\w+)(=\*\*)?\}/g, (_, field: string, rest?: string) => {
    const name = rest ? '*' : field;
    pathFields.set(name, field);
    return rest ? '*' : `:${field}`;
  });
  return { verb: pattern.case === 'get' ? 'GET' : 'POST', path, pathFields, body, responseBody };
}

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
