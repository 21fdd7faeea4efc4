/** The REST path of an RPC, as its schema states it with `google.api.http`. */
import { type DescMethod, getOption, hasOption } from '@bufbuild/protobuf';
import { http } from '../../gen/google/api/annotations_pb.ts';

export interface HttpRule {
  readonly verb: 'GET' | 'POST';
  /** In the router's words: `/api/v1/models/*`, `/api/v1/admin/accounts/:account_id`. */
  readonly path: string;
  /** From the router's name of a path parameter to the field's. */
  readonly pathFields: ReadonlyMap<string, string>;
  /** The request's field that is the body, `*` for the whole message, or empty. */
  readonly body: string;
  /** The response's field that is the body, or empty for the whole message. */
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
