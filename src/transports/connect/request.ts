/** Reads requests of Connect and gRPC-Web. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Http2ServerRequest, Http2ServerResponse } from 'node:http2';
import type { JsonReadOptions } from '@bufbuild/protobuf';
import { createContextKey } from '@connectrpc/connect';
import type { UniversalServerRequest } from '@connectrpc/connect/protocol';
import { compressionGzip, universalRequestFromNodeRequest } from '@connectrpc/connect-node';
import type { Client } from '../../core/access/gate.ts';
import type { Wire } from '../../core/entities/usage.ts';
import { CollectedBytes } from '../../core/values/collected-bytes.ts';
import { bytesForPart, bytesUnpacked } from '../byte-budget.ts';
import { decompression } from '../content-encoding.ts';
import { type RequestHead, requestHead } from '../request-head.ts';
import { type Envelopes, envelopeHead, messagesIn } from '../rpc/envelopes.ts';
import { BodyPieces, binary, json, type MessageForm, type Received, receive } from '../rpc/request.ts';
import { tooLarge } from '../rpc/request-errors.ts';
import type { Timeout } from '../rpc/timeout.ts';
import type { ServedCall } from '../run-call.ts';

export type Request = IncomingMessage | Http2ServerRequest;
export type Response = ServerResponse | Http2ServerResponse;

/** A call that the gate has opened or refused. */
export interface GatedCall {
  readonly served: ServedCall;
  /** The error of the gate; undefined for an opened call. */
  readonly refusal: unknown;
  readonly response: Response;
  /** The deadline of an opened call. */
  readonly timeout?: Timeout | undefined;
  /** Reads the request of an opened call. */
  readonly receive: () => Promise<Received>;
}

export const gatedKey = createContextKey<GatedCall | undefined>(undefined);

export function headOf({ headers }: Request, client: Client): RequestHead {
  return requestHead(wireOf(headers['content-type']?.toLowerCase() ?? ''), client, headers);
}

function wireOf(contentType: string): Wire {
  if (contentType.startsWith('application/grpc-web')) return 'grpc-web';
  return contentType.startsWith('application/grpc') ? 'grpc' : 'connect';
}

const isJson = (type: string) => /^application\/([\w-]+\+)?json/i.test(type);
/** Whether the messages are in envelopes; not in a unary call of Connect. */
const isEnveloped = (type: string) => !/^application\/(json|proto)\b/i.test(type);

/** The header that names the compression of the body, or of messages in it. */
function encodingHeader(type: string): string {
  if (!isEnveloped(type)) return 'content-encoding';
  return /^application\/connect\+/i.test(type) ? 'connect-content-encoding' : 'grpc-encoding';
}

/**
 * The request for connect-node, with an empty message, as Parley reads the messages itself. Undefined if the Host header is not a
 * valid host.
 */
export function toUniversal(
  request: Request,
  { response, timeout }: GatedCall,
  isStream: boolean,
): UniversalServerRequest | undefined {
  try {
    const received = universalRequestFromNodeRequest(request, response, undefined, undefined);
    const { header } = received;
    const type = header.get('content-type') ?? '';
    const encoding = encodingHeader(type);
    if (header.get(encoding) === compressionGzip.name) header.delete(encoding);
    header.delete('content-length');
    if (timeout) header.set(...timeout);
    return { ...received, body: emptyBody(type, isStream) };
  } catch {
    return undefined;
  }
}

async function* emptyBody(type: string, isStream: boolean): AsyncGenerator<Uint8Array> {
  if (isStream) return;
  const message = Buffer.from(isJson(type) ? '{}' : '');
  if (isEnveloped(type)) yield envelopeHead(message);
  yield message;
}

/**
 * Reads the messages of a request.
 * @param bodyMax like `bodyBytesMax` of its RPC
 * @throws `payload_too_large`; the errors of `messagesIn` and `receive`
 */
export function receiveFrom(
  request: Request,
  form: MessageForm,
  bodyMax: number | undefined,
  served: ServedCall,
  jsonOptions?: Partial<JsonReadOptions>,
): Promise<Received> {
  const { 'content-type': type = '', 'content-length': length, ...headers } = request.headers;
  // connect-node has refused any other compression.
  const encoding = encodingHeader(type);
  const isPacked = headers[encoding] === compressionGzip.name;
  const {
    isStream,
    limits: { bytesMax },
  } = form;
  const unpack = isPacked ? decompression(compressionGzip.name, encoding) : undefined;
  const body = { pieces: admittedPieces(request, served, bodyMax), unpack, isStream, bytesMax };
  const messages = isEnveloped(type) ? messagesIn(body) : wholeBody(body, Number(length ?? bytesMax));
  return receive(form, messages, isJson(type) ? json(jsonOptions) : binary);
}

/** The body of a unary call of Connect: one message. */
async function* wholeBody(
  { pieces, unpack, bytesMax }: Envelopes,
  announced: number,
): AsyncGenerator<Buffer> {
  if (announced > bytesMax) throw tooLarge();
  const body = new CollectedBytes(announced);
  for await (const piece of pieces) {
    if (body.length + piece.length > bytesMax) throw tooLarge();
    body.add(piece);
  }
  yield unpack ? await unpack(body.bytes, bytesMax, tooLarge) : body.bytes;
}

/**
 * Waits until a body of known length may be in memory. Other bodies wait while they are read.
 * @throws `overloaded`
 */
export async function admitBody({ headers }: Request, served: ServedCall, bytesMax: number): Promise<void> {
  const length = Number(headers['content-length'] ?? 0);
  await served.body.admit(served.isCompressed ? bytesUnpacked(length, bytesMax) : Math.min(length, bytesMax));
}

async function* admittedPieces(
  request: Request,
  served: ServedCall,
  bodyMax: number | undefined,
): AsyncGenerator<Uint8Array> {
  const isAdmitted = bodyMax === undefined || request.headers['content-length'] !== undefined;
  if (isAdmitted) return yield* new BodyPieces(request);
  let received = 0;
  for await (const piece of new BodyPieces(request)) {
    received += piece.length;
    await served.body.admit(served.isCompressed ? bodyMax : bytesForPart(received, bodyMax));
    yield piece;
  }
  if (!served.isCompressed) served.body.keep(received);
}
