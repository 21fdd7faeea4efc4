/**
 * Handlers created from the schema alone. Path, query and body form the request; the response or one of its fields is
 * the answer.
 */
import {
  type DescField,
  type DescMessage,
  type DescMethodUnary,
  type JsonObject,
  type JsonValue,
  type Message,
  type MessageShape,
  ScalarType,
} from '@bufbuild/protobuf';
import { jsonCodec } from '../../codec/codec.ts';
import { pathOfNonFinite } from '../../codec/finite-numbers.ts';
import { type HttpRule, httpRule, responseBodyCodec } from '../../codec/http-rule.ts';
import { notAField, refuseUnknownMembers, unknownField } from '../../codec/unknown-fields.ts';
import { type AdminRpc, isStrict, type UnaryRpc } from '../../core/rpcs.ts';
import { invalid } from '../../core/values/parameters.ts';
import { answerEncoder } from '../encode-once.ts';
import { refuseNonFinite } from '../refusals.ts';
import type { Exchange, PathParameters, RestHandler } from './exchange.ts';
import { readOptionalJson } from './request.ts';

/** Another shape of an answer, for clients that expect it. */
export interface AnswerShape {
  isFor(exchange: Exchange): boolean;
  encode(response: unknown): JsonValue;
}

/** @param shapes the first one that is for a client replaces that of the schema. Default: none */
export function unaryHandler(rpc: UnaryRpc, shapes: readonly AnswerShape[] = []): RestHandler {
  const read = requestReader(rpc.method, isStrict(rpc));
  const own: AnswerShape = { isFor: () => true, encode: responseBodyCodec(rpc.method).encode };
  const encoders = [...shapes, own].map(({ isFor, encode }) => ({
    isFor,
    textOf: answerEncoder(rpc.operation, (response: Message) => JSON.stringify(encode(response))),
  }));
  return async (exchange, parameters) => {
    const { served } = exchange;
    const answer =
      rpc.runKeyless && served.isKeyless
        ? await rpc.runKeyless(await read(exchange, parameters))
        : await served.answer(rpc, await served.read(() => read(exchange, parameters)));
    const encoder = encoders.find(({ isFor }) => isFor(exchange));
    exchange.sendText(200, 'application/json', encoder?.textOf(rpc.toMessage(answer)) ?? '');
  };
}

export function adminHandler(rpc: AdminRpc): RestHandler {
  const read = requestReader(rpc.method, isStrict(rpc));
  const { encode } = responseBodyCodec(rpc.method);
  return async (exchange, parameters) => {
    const response = await exchange.served.administer(rpc, await read(exchange, parameters));
    exchange.sendJson(200, encode(response));
  };
}

/** @param refusesUnknown whether unknown members and query parameters are refused rather than ignored */
function requestReader<I extends DescMessage>(
  method: DescMethodUnary<I, DescMessage>,
  refusesUnknown: boolean,
) {
  const rule = httpRule(method);
  const { input } = method;
  const codec = jsonCodec(input);
  return async (exchange: Exchange, parameters: PathParameters): Promise<MessageShape<I>> => {
    const hasBody = rule.body === '*';
    if (refusesUnknown) checkQuery(exchange.query, input, hasBody ? [] : queryNames(input, rule));
    const members = hasBody ? await readOptionalJson(exchange) : readQuery(exchange.query, input);
    if (refusesUnknown && hasBody) checkMembers(members, input, pathMembers(rule, parameters));
    Object.assign(members, pathMembers(rule, parameters));
    const request = codec.decode(members);
    refuseNonFinite(pathOfNonFinite(members), 'invalid_parameter');
    return request;
  };
}

function pathMembers({ pathFields }: HttpRule, parameters: PathParameters): Record<string, string> {
  return Object.fromEntries([...pathFields].map(([name, field]) => [field, parameters[name] ?? '']));
}

function queryNames({ fields }: DescMessage, { pathFields }: HttpRule): readonly string[] {
  const inPath = [...pathFields.values()];
  return fields.map(({ jsonName }) => jsonName).filter((name) => !inPath.includes(name));
}

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

/**
 * @param inPath the members that the path names; a body may repeat them
 * @throws `invalid_parameter` for unknown members, empty lists, and members that differ from the path
 */
function checkMembers(body: JsonObject, input: DescMessage, inPath: Readonly<Record<string, string>>): void {
  for (const [name, expected] of Object.entries(inPath)) {
    const { [name]: value = null } = body;
    if (value !== null && value !== expected)
      throw invalid(name, `\`${name}\` differs from the path. Leave it out.`);
  }
  refuseUnknownMembers(input, body, { refusesEmptyLists: true });
}

/**
 * @param known the parameters that the request takes
 * @throws `invalid_parameter` for unknown and for repeated parameters
 */
function checkQuery(query: URLSearchParams, input: DescMessage, known: readonly string[]): void {
  const lists = input.fields.filter(({ fieldKind }) => fieldKind === 'list').map(({ jsonName }) => jsonName);
  for (const name of new Set(query.keys())) {
    if (known.length === 0) throw notAField(name, 'Its path takes no query parameters.');
    if (!known.includes(name)) throw unknownField('', name, known);
    if (query.getAll(name).length > 1 && !lists.includes(name)) {
      throw invalid(name, `\`${name}\` is given more than once.`);
    }
  }
}
