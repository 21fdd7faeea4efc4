import type { JsonObject } from '@bufbuild/protobuf';
import { CollectedBytes } from '../core/collected-bytes.ts';
import { ParleyError } from '../core/errors.ts';
import { isObject } from '../json/members.ts';
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
  return { json: parseObject(bytes), bytes: bytes.length };
}

/** The same, where an empty body stands for an empty object. */
export async function readOptionalJson(exchange: Exchange, bytesMax: number): Promise<JsonObject> {
  const bytes = await readBytes(exchange, bytesMax);
  return bytes.length === 0 ? {} : parseObject(bytes);
}

function parseObject(bytes: Buffer): JsonObject {
  const value = parse(bytes);
  if (isDeeperThan(levelsMax, value)) {
    throw new ParleyError('invalid_request_error', {
      message: `The body is nested more than ${levelsMax} levels deep. Send it flatter.`,
    });
  }
  if (isObject(value)) return value;
  throw new ParleyError('invalid_request_error', {
    message: 'The body must be a JSON object, such as `{"model": …}`.',
  });
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

function parse(bytes: Buffer): unknown {
  try {
    return JSON.parse(utf8.decode(bytes));
  } catch (cause) {
    throw new ParleyError('invalid_request_error', {
      message: 'The body is not valid JSON in UTF-8. Check quotes, commas and brackets.',
      cause,
    });
  }
}
