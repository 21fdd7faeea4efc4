/** Reads the body of a request: its bytes within a limit, its JSON, and the fields of the JSON. */
import type { JsonObject } from '@bufbuild/protobuf';
import type { Decoded } from '../../codec/codec.ts';
import { parseJson } from '../../codec/parse-json.ts';
import { isObject } from '../../codec/shape.ts';
import type { Call } from '../../core/call.ts';
import { CollectedBytes } from '../../core/collected-bytes.ts';
import { type ErrorCode, ParleyError } from '../../core/errors.ts';
import type { Exchange } from './exchange.ts';

/** The largest bodies, in bytes. */
export interface RestLimits {
  readonly speechBodyBytesMax: number;
  readonly chatBodyBytesMax: number;
}

/** Levels of nested objects and arrays, as many as Connect accepts. Far more would overflow the stack. */
const levelsMax = 100;

/**
 * Reads a body of at most `bytesMax` bytes. A larger Content-Length is refused before a byte is read, a body that turns out larger as
 * soon as it does.
 * @throws what `tooLarge` makes
 */
export async function readBytes(
  exchange: Exchange,
  bytesMax: number,
  tooLarge: () => ParleyError,
): Promise<Buffer> {
  const { request } = exchange;
  if (Number(request.headers['content-length'] ?? 0) > bytesMax) throw tooLarge();
  exchange.acceptBody();
  const body = new CollectedBytes();
  // Leaving the loop must not destroy the request: the answer has to go out on its socket.
  for await (const chunk of request.iterator({ destroyOnReturn: false })) {
    exchange.signal.throwIfAborted();
    const part = chunk as Buffer;
    if (body.length + part.length > bytesMax) throw tooLarge();
    body.add(part);
  }
  return body.bytes;
}

/**
 * Reads a JSON object, and notes its size and its `model` on the call, so that the record has them even if the body is refused.
 * @throws `payload_too_large`; `invalid_request_error` for anything that is not a JSON object, or is nested too deep
 */
export async function readJson(exchange: Exchange, call: Call, bytesMax: number): Promise<JsonObject> {
  const json = await readObject(exchange, call, bytesMax);
  refuseDeep(json);
  return json;
}

/**
 * The same for a request whose other members are dropped, whatever is in them. A decoder of these members must not recurse: they may
 * be nested to any depth.
 */
export async function readNamedMembers(
  exchange: Exchange,
  call: Call,
  bytesMax: number,
  names: readonly string[],
): Promise<JsonObject> {
  const json = await readObject(exchange, call, bytesMax);
  return Object.fromEntries(Object.entries(json).filter(([name]) => names.includes(name)));
}

async function readObject(exchange: Exchange, call: Call, bytesMax: number): Promise<JsonObject> {
  const bytes = await readBytes(exchange, bytesMax, () => bodyTooLarge(bytesMax));
  if (bytes.length === 0) throw badBody('The body is empty. Send a JSON object, such as `{"model": …}`.');
  const json = parseObject(bytes, exchange);
  const { model } = json;
  call.requestBytes = bytes.length;
  if (typeof model === 'string' && model !== '') call.metering.note({ model });
  return json;
}

/** Reads a JSON object; an empty body stands for an empty object. */
export async function readOptionalJson(exchange: Exchange, bytesMax: number): Promise<JsonObject> {
  const bytes = await readBytes(exchange, bytesMax, () => bodyTooLarge(bytesMax));
  if (bytes.length === 0) return {};
  const json = parseObject(bytes, exchange);
  refuseDeep(json);
  return json;
}

function parseObject(bytes: Buffer, exchange: Exchange): JsonObject {
  const value = parse(bytes, exchange);
  if (isObject(value)) return value;
  throw badBody('The body must be a JSON object, such as `{"model": …}`.');
}

function refuseDeep(json: JsonObject): void {
  if (!isDeeperThan(levelsMax, json)) return;
  throw badBody(`The body is nested more than ${levelsMax} levels deep. Send it flatter.`);
}

function badBody(message: string, cause?: unknown): ParleyError {
  return new ParleyError('invalid_request_error', { message, cause });
}

/** Recurses no deeper than `levels`. */
function isDeeperThan(levels: number, value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false;
  return levels === 0 || Object.values(value).some((member) => isDeeperThan(levels - 1, member));
}

function bodyTooLarge(bytesMax: number): ParleyError {
  return new ParleyError('payload_too_large', {
    message: `The body is larger than ${bytesMax} bytes. Send less at once.`,
  });
}

const utf8 = new TextDecoder('utf-8', { fatal: true });

function parse(bytes: Buffer, { request }: Exchange): unknown {
  try {
    return parseJson(utf8.decode(bytes));
  } catch (cause) {
    // Content-Type is not checked, but helps to explain what is wrong with the body.
    const isForm = /^multipart\//i.test(request.headers['content-type'] ?? '');
    throw badBody(
      isForm ? formAdvice : 'The body is not valid JSON in UTF-8. Check quotes, commas and brackets.',
      cause,
    );
  }
}

const formAdvice = 'The body is a form. Send a JSON object here, with `Content-Type: application/json`.';

/** Throws if a required member is absent or null. Call it before other members are checked. */
export function requireMembers(body: JsonObject, codes: Readonly<Record<string, ErrorCode>>): void {
  for (const [member, code] of Object.entries(codes)) {
    if (body[member] === undefined || body[member] === null) throw new ParleyError(code, { param: member });
  }
}

/** Returns the decoded message, or throws for its first member of the wrong type. */
export function accept<T>({ message, errors }: Decoded<T>, codeOf: (path: string) => ErrorCode): T {
  const [first] = errors;
  if (first === undefined) return message;
  throw new ParleyError(codeOf(first.path), {
    message: `\`${first.path}\` must be ${first.expected}.`,
    param: first.path,
  });
}
