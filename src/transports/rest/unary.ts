/** REST routes that need nothing but the schema: path, query and body make the request, a field of the response the body. */
import {
  type DescField,
  type DescMessage,
  type DescMethodUnary,
  type JsonObject,
  type JsonValue,
  type MessageShape,
  ScalarType,
} from '@bufbuild/protobuf';
import { jsonCodec } from '../../codec/codec.ts';
import { type HttpRule, httpRule } from '../../codec/http-rule.ts';
import { responseBodyCodec } from '../../codec/response-body.ts';
import { answerEncoder } from '../../core/encode-once.ts';
import type { Operation } from '../../core/ports/usage.ts';
import { accept } from './bad-fields.ts';
import type { Exchange } from './exchange.ts';
import { readOptionalJson } from './request.ts';

/** The largest body of these requests: names, ids and dates. */
const bodyBytesMax = 64 * 1024;

export type PathParameters = Readonly<Record<string, string | undefined>>;

/** Answers an exchange with an RPC function; `Context` is what the function needs besides its request. */
export type UnaryHandler<Context> = (
  exchange: Exchange,
  parameters: PathParameters,
  context: Context,
) => Promise<void>;

export function unaryHandler<I extends DescMessage, O extends DescMessage, Context>(
  method: DescMethodUnary<I, O>,
  run: (request: MessageShape<I>, context: Context) => Promise<MessageShape<O>>,
  operation?: Operation,
): UnaryHandler<Context> {
  const rule = httpRule(method);
  const codec = jsonCodec(method.input);
  const { encode } = responseBodyCodec(method);
  const textOf = answerEncoder(operation, (response: MessageShape<O>) => JSON.stringify(encode(response)));
  return async (exchange, parameters, context) => {
    const members = await readMembers(exchange, parameters, rule, method.input);
    const request = accept(codec.decode(members), () => 'invalid_parameter');
    exchange.sendText(200, 'application/json', textOf(await run(request, context)));
  };
}

async function readMembers(
  exchange: Exchange,
  parameters: PathParameters,
  rule: HttpRule,
  input: DescMessage,
): Promise<JsonObject> {
  const members =
    rule.body === '*' ? await readOptionalJson(exchange, bodyBytesMax) : readQuery(exchange.query, input);
  for (const [parameter, field] of rule.pathFields) members[field] = parameters[parameter] ?? '';
  return members;
}

/** The query's parameters as the JSON members that they stand for; those that the request does not have are ignored. */
function readQuery(query: URLSearchParams, input: DescMessage): JsonObject {
  const members: JsonObject = {};
  for (const field of input.fields) {
    const values = query.getAll(field.jsonName);
    const [value] = values;
    if (value === undefined) continue;
    members[field.jsonName] = field.fieldKind === 'list' ? values : queryValue(field, value);
  }
  return members;
}

function queryValue(field: DescField, text: string): JsonValue {
  const isNumber = field.fieldKind === 'scalar' && field.scalar === ScalarType.INT32;
  return isNumber && /^-?\d+$/.test(text) ? Number(text) : text;
}
