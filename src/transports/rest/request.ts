import type { JsonObject } from '@bufbuild/protobuf';
import { isObject } from '../../codec/shape.ts';
import { CollectedBytes } from '../../core/collected-bytes.ts';
import { ParleyError } from '../../core/errors.ts';
import type { Exchange } from './exchange.ts';

/** Objects and arrays within each other. Of a message over Connect as many are read; far more would be more than the stack has room for. */
const levelsMax = 100;

/**
 * The body's chunks, at most `bytesMax` in all: what Content-Length announces over that is refused unread, and what
 * turns out longer is refused as soon as it does.
 */
export async function* boundedBody(
  exchange: Exchange,
  bytesMax: number,
  tooLarge: () => ParleyError,
): AsyncGenerator<Buffer> {
  const { request } = exchange;
  if (Number(request.headers['content-length'] ?? 0) > bytesMax) throw tooLarge();
  exchange.acceptBody();
  let bytes = 0;
  // Leaving the loop must not destroy the request: the answer has to go out on its socket.
  for await (const chunk of request.iterator({ destroyOnReturn: false })) {
    exchange.signal.throwIfAborted();
    const part = chunk as Buffer;
    bytes += part.length;
    if (bytes > bytesMax) throw tooLarge();
    yield part;
  }
}

export interface JsonBody {
  readonly json: JsonObject;
  readonly bytes: number;
}

/** Reads a JSON object. @throws `payload_too_large`; `invalid_request_error` for anything that is not a JSON object */
export async function readJson(exchange: Exchange, bytesMax: number): Promise<JsonBody> {
  const bytes = await readBytes(exchange, bytesMax);
  if (bytes.length === 0) throw badBody('The body is empty. Send a JSON object, such as `{"model": …}`.');
  return { json: parseObject(bytes, exchange), bytes: bytes.length };
}

/** The same, where an empty body stands for an empty object. */
export async function readOptionalJson(exchange: Exchange, bytesMax: number): Promise<JsonObject> {
  const bytes = await readBytes(exchange, bytesMax);
  return bytes.length === 0 ? {} : parseObject(bytes, exchange);
}

function parseObject(bytes: Buffer, exchange: Exchange): JsonObject {
  const value = parse(bytes, exchange);
  if (isDeeperThan(levelsMax, value)) {
    throw badBody(`The body is nested more than ${levelsMax} levels deep. Send it flatter.`);
  }
  if (isObject(value)) return value;
  throw badBody('The body must be a JSON object, such as `{"model": …}`.');
}

function badBody(message: string, cause?: unknown): ParleyError {
  return new ParleyError('invalid_request_error', { message, cause });
}

/** It goes no deeper itself. */
function isDeeperThan(levels: number, value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false;
  return levels === 0 || Object.values(value).some((member) => isDeeperThan(levels - 1, member));
}

async function readBytes(exchange: Exchange, bytesMax: number): Promise<Buffer> {
  const body = new CollectedBytes();
  const tooLarge = () =>
    new ParleyError('payload_too_large', {
      message: `The body is larger than ${bytesMax} bytes. Send less at once.`,
    });
  for await (const chunk of boundedBody(exchange, bytesMax, tooLarge)) body.add(chunk);
  return body.bytes;
}

const utf8 = new TextDecoder('utf-8', { fatal: true });

function parse(bytes: Buffer, { request }: Exchange): unknown {
  try {
    return JSON.parse(utf8.decode(bytes));
  } catch (cause) {
    // The type of a body that is JSON does not matter; of one that is not it tells what went wrong.
    const isForm = /^multipart\//i.test(request.headers['content-type'] ?? '');
    throw badBody(
      isForm ? formAdvice : 'The body is not valid JSON in UTF-8. Check quotes, commas and brackets.',
      cause,
    );
  }
}

const formAdvice = 'The body is a form. Send a JSON object here, with `Content-Type: application/json`.';
