/** Reads the body of a request: its bytes within a limit, its JSON, and the fields of the JSON. */
import type { JsonObject } from '@bufbuild/protobuf';
import { type ElementLimits, JsonScan } from '../../codec/json-scan.ts';
import { parseJson } from '../../codec/parse-json.ts';
import type { Call } from '../../core/access/call.ts';
import { plainRequestBytesMax, plainRequestElementsMax, requestShape } from '../../core/rpcs.ts';
import { CollectedBytes } from '../../core/values/collected-bytes.ts';
import { type ErrorCode, ParleyError } from '../../core/values/errors.ts';
import { isObject } from '../../core/values/json.ts';
import { breathe } from '../../core/values/soon.ts';
import { bytesForPart, bytesUnpacked } from '../byte-budget.ts';
import { decompression } from '../content-encoding.ts';
import { refuseExcess } from '../refusals.ts';
import type { Exchange } from './exchange.ts';

export interface RestLimits {
  readonly speechBodyBytesMax: number;
  readonly chatBodyBytesMax: number;
  /** Elements of a speech or chat request. */
  readonly requestElementsMax: number;
}

interface JsonLimits extends ElementLimits {
  readonly bytesMax: number;
}

/** Limits of a body that holds only names, ids and dates. */
const plainLimits: JsonLimits = {
  bytesMax: plainRequestBytesMax,
  elementsMax: plainRequestElementsMax,
  ...requestShape,
};

/**
 * Reads a body of at most `bytesMax` bytes, compressed and decompressed, once there is memory for it. Refuses a larger
 * Content-Length before reading, and a body that grows larger at once.
 * @param check reads each piece as it arrives, or all of a compressed body; if it throws, the rest is not read
 * @throws the error of `tooLarge`; `overloaded`; `invalid_request_error` for a compression that is unknown or malformed
 */
export async function readBytes(
  exchange: Exchange,
  bytesMax: number,
  tooLarge: () => ParleyError,
  check?: (piece: Buffer) => void,
): Promise<Buffer> {
  const { request, served } = exchange;
  const decompress = decompression(request.headers['content-encoding']);
  const length = request.headers['content-length'];
  const announced = Number(length ?? bytesMax);
  if (announced > bytesMax) throw tooLarge();
  const inMemory = (bytes: number) => (decompress ? bytesUnpacked(bytes, bytesMax) : bytes);
  const admitted = inMemory(Number(length ?? 0));
  // Awaits in any case, as Node passes on a body that has come with its head in the next turn of microtasks.
  await (served.body.tryAdmit(admitted) ? undefined : served.body.admit(admitted));
  exchange.acceptBody();
  const body = new CollectedBytes(announced);
  const take = (part: Buffer) => {
    const received = body.length + part.length;
    if (received > bytesMax) throw tooLarge();
    if (decompress === undefined) check?.(part);
    body.add(part);
    const isUnknown = length === undefined;
    return isUnknown ? served.body.admit(bytesForPart(inMemory(received), bytesMax)) : undefined;
  };
  // Most bodies have arrived with the head.
  const isWhole = length !== undefined && request.readableLength === announced;
  const whole: Buffer | null = isWhole ? request.read() : null;
  if (whole) take(whole);
  else await readPieces(exchange, take);
  const bytes = decompress ? await decompress(body.bytes, bytesMax, tooLarge) : body.bytes;
  if (decompress) check?.(bytes);
  served.body.keep(bytes.length);
  return bytes;
}

/**
 * Reads a body to its end. After an error the rest is not read, and the connection stays open for the answer.
 * @param take may return a promise for which the next piece waits
 */
function readPieces({ request, signal }: Exchange, take: (piece: Buffer) => Promise<void> | undefined) {
  return new Promise<void>((resolve, reject) => {
    const fail = (error: unknown) => {
      request.off('data', read).pause();
      reject(error);
    };
    const read = (piece: Buffer) => {
      try {
        signal.throwIfAborted();
        const admitted = take(piece);
        if (admitted === undefined) return;
        request.pause();
        admitted.then(() => request.resume(), fail);
      } catch (error) {
        fail(error);
      }
    };
    const leave = () => {
      if (!request.readableEnded) fail(new ParleyError('request_cancelled'));
    };
    request.on('data', read).on('end', resolve).on('error', fail).on('close', leave);
    if (request.readableEnded) resolve();
    else if (request.destroyed) leave();
  });
}

/**
 * Reads a JSON object, and notes its size and its `model` on the call, so that the record has them even if the body is
 * refused.
 * @throws `payload_too_large`; `invalid_request_error` if it is not a JSON object, or exceeds the limits
 */
export async function readJson(exchange: Exchange, call: Call, limits: JsonLimits): Promise<JsonObject> {
  const bytes = await readChecked(exchange, limits);
  if (bytes.length === 0) throw badBody('The body is empty. Send a JSON object, such as `{"model": …}`.');
  const json = parseObject(bytes, exchange);
  const { model } = json;
  call.requestBytes = bytes.length;
  if (typeof model === 'string') call.metering.noteModel(model);
  const pause = breathe(bytes.length);
  if (pause) await pause;
  return json;
}

/** Reads a JSON object without long lists or texts. An empty body counts as an empty object. */
export async function readOptionalJson(exchange: Exchange): Promise<JsonObject> {
  const bytes = await readChecked(exchange, plainLimits);
  return bytes.length === 0 ? {} : parseObject(bytes, exchange);
}

/** Counts elements and levels while the text arrives, before it is parsed. */
function readChecked(exchange: Exchange, limits: JsonLimits): Promise<Buffer> {
  const scan = new JsonScan(limits);
  const { bytesMax } = limits;
  return readBytes(
    exchange,
    bytesMax,
    () => bodyTooLarge(bytesMax),
    (piece) => refuseExcess(scan.read(piece), limits),
  );
}

function badBody(message: string, cause?: unknown): ParleyError {
  return new ParleyError('invalid_request_error', { message, cause });
}

function bodyTooLarge(bytesMax: number): ParleyError {
  return new ParleyError('payload_too_large', {
    message: `The body is larger than ${bytesMax} bytes. Send less at once.`,
  });
}

const utf8 = new TextDecoder('utf-8', { fatal: true });

function parseObject(bytes: Buffer, { request }: Exchange): JsonObject {
  let value: unknown;
  try {
    value = parseJson(utf8.decode(bytes));
  } catch (cause) {
    // Content-Type is not checked, but helps to explain why the body is malformed.
    const isForm = /^multipart\//i.test(request.headers['content-type'] ?? '');
    throw badBody(
      isForm ? formAdvice : 'The body is not valid JSON in UTF-8. Check quotes, commas and brackets.',
      cause,
    );
  }
  if (isObject(value)) return value;
  throw badBody('The body must be a JSON object, such as `{"model": …}`.');
}

const formAdvice = 'The body is a form. Send a JSON object here, with `Content-Type: application/json`.';

/** Throws if a required member is absent or null. Call before other members are checked. */
export function requireMembers(body: JsonObject, codes: Readonly<Record<string, ErrorCode>>): void {
  for (const [member, code] of Object.entries(codes)) {
    if (body[member] === undefined || body[member] === null) throw new ParleyError(code, { param: member });
  }
}
