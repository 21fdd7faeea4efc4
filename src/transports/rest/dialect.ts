/** The APIs of a chat: chat completions, completions, responses and messages. They differ in their form alone. */
import { create, type DescMessage, type JsonObject, type JsonValue } from '@bufbuild/protobuf';
import { pathOfNonFinite } from '../../codec/finite-numbers.ts';
import { requestShape, type ServerStreamRpc, type UnaryRpc } from '../../core/rpcs.ts';
import type { Batches } from '../../core/values/batches.ts';
import { ParleyError } from '../../core/values/errors.ts';
import { refuseNonFinite } from '../refusals.ts';
import type { Exchange, RestHandler } from './exchange.ts';
import { type RestLimits, readJson } from './request.ts';

export interface RestDialect<Params, Answer, Part> {
  read(body: JsonObject, exchange: Exchange): Params;
  encode(answer: Answer): JsonValue;
  send(exchange: Exchange, parts: Batches<Part>, params: Params): Promise<unknown>;
}

/** POST with the parameters of both RPCs: `stream` chooses one. */
export function dialectHandler<Params, Answer, Part>(
  unary: UnaryRpc<DescMessage, DescMessage, Answer>,
  streamed: ServerStreamRpc<DescMessage, DescMessage, Part>,
  limits: RestLimits,
  dialect: RestDialect<Params, Answer, Part>,
): RestHandler {
  return async (exchange) => {
    const { served } = exchange;
    const { params, isStreamed } = await readStreamable(exchange, limits, dialect.read);
    const request = { params };
    if (isStreamed) {
      const parts = served.stream(streamed, create(streamed.method.input, request));
      await dialect.send(exchange, parts, params);
      return exchange.end();
    }
    const answer = await served.answer(unary, create(unary.method.input, request));
    exchange.sendJson(200, dialect.encode(answer));
  };
}

/**
 * Reads the JSON of a chat, a response or a completion. Its member `stream` chooses between the unary RPC and the
 * stream.
 */
export function readStreamable<Params>(
  exchange: Exchange,
  { chatBodyBytesMax: bytesMax, requestElementsMax: elementsMax }: RestLimits,
  readParams: (body: JsonObject, exchange: Exchange) => Params,
): Promise<{ readonly params: Params; readonly isStreamed: boolean }> {
  return exchange.served.read(async (call) => {
    const limits = { bytesMax, elementsMax, ...requestShape };
    const { stream = null, ...body } = await readJson(exchange, call, limits);
    const params = readParams(body, exchange);
    refuseNonFinite(pathOfNonFinite(body), 'invalid_parameter');
    return { params, isStreamed: readStream(stream) };
  });
}

/** The message of an answer, which is always there. */
export function required<T>(message: T | undefined): T {
  if (message === undefined) throw new ParleyError('internal_error');
  return message;
}

function readStream(stream: JsonValue): boolean {
  if (stream === null || typeof stream === 'boolean') return stream === true;
  throw new ParleyError('invalid_parameter', { message: '`stream` must be true or false.', param: 'stream' });
}
