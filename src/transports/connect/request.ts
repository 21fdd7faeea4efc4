/** Reads requests of Connect and gRPC-Web, in the form that connect-node expects. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Http2ServerRequest, Http2ServerResponse } from 'node:http2';
import type { Message } from '@bufbuild/protobuf';
import { Code, ConnectError, createContextKey } from '@connectrpc/connect';
import type { UniversalServerRequest } from '@connectrpc/connect/protocol';
import { universalRequestFromNodeRequest } from '@connectrpc/connect-node';
import type { Client } from '../../core/access/gate.ts';
import type { Wire } from '../../core/entities/usage.ts';
import { ParleyError } from '../../core/values/errors.ts';
import { bytesForPart, bytesUnpacked } from '../byte-budget.ts';
import { type RequestHead, requestHead } from '../request-head.ts';
import type { MessageForm } from '../rpc/envelopes.ts';
import { malformed, tooLarge } from '../rpc/request-errors.ts';
import type { Timeout } from '../rpc/timeout.ts';
import type { ServedCall } from '../run-call.ts';
import { checkedBody } from './body.ts';

export type Request = IncomingMessage | Http2ServerRequest;
export type Response = ServerResponse | Http2ServerResponse;

/** A call that the gate has opened or refused. */
export interface GatedCall {
  readonly served: ServedCall;
  /** The error of the gate, or of a request that cannot be read; undefined for an opened call. */
  readonly refusal: unknown;
  readonly response: Response;
  /** The deadline of an opened call. */
  readonly timeout?: Timeout | undefined;
  /** Like `bodyBytesMax` of its RPC. */
  readonly bytesMax: number | undefined;
  /** Set while connect-node reads the request, and removed once its handler runs. */
  reading?: AbortSignal | undefined;
  /** Bytes of the last message that was read. */
  messageBytes?: number;
}

export const gatedKey = createContextKey<GatedCall | undefined>(undefined);

export function headOf({ headers }: Request, client: Client): RequestHead {
  return requestHead(wireOf(headers['content-type']?.toLowerCase() ?? ''), client, headers);
}

function wireOf(contentType: string): Wire {
  if (contentType.startsWith('application/grpc-web')) return 'grpc-web';
  return contentType.startsWith('application/grpc') ? 'grpc' : 'connect';
}

/** Undefined if the Host header is not a valid host. */
export function toUniversal(
  request: Request,
  gated: GatedCall,
  form: MessageForm,
): UniversalServerRequest | undefined {
  const { response, timeout } = gated;
  const onMessage = (bytes: number) => {
    gated.messageBytes = bytes;
  };
  try {
    const received = universalRequestFromNodeRequest(request, response, undefined, undefined);
    if (timeout) received.header.set(...timeout);
    const { header } = received;
    return {
      ...received,
      body: checkedBody({ ...form, header, pieces: piecesOf(request, gated), onMessage }),
    };
  } catch {
    return undefined;
  }
}

/**
 * Waits until a body of known length may be in memory. Other bodies wait while they are read.
 * @throws `overloaded`
 */
export async function admitBody({ headers }: Request, served: ServedCall, bytesMax: number): Promise<void> {
  const length = Number(headers['content-length'] ?? 0);
  await served.admitBytes(served.isCompressed ? bytesUnpacked(length, bytesMax) : Math.min(length, bytesMax));
}

/** Leaving the loop must not destroy the request, as the answer leaves on its connection. */
async function* piecesOf(request: Request, { served, bytesMax }: GatedCall): AsyncGenerator<Uint8Array> {
  const pieces = request.iterator({ destroyOnReturn: false });
  const isAdmitted = bytesMax === undefined || request.headers['content-length'] !== undefined;
  if (isAdmitted) return yield* pieces;
  let received = 0;
  for await (const piece of pieces) {
    received += piece.length;
    await served.admitBytes(served.isCompressed ? bytesMax : bytesForPart(received, bytesMax));
    yield piece;
  }
  if (!served.isCompressed) served.keepBytes(received);
}

/** The messages of a client's stream. Throws a ParleyError for a body that is malformed or too large. */
export async function* requestsOf(messages: AsyncIterable<Message>): AsyncGenerator<Message> {
  try {
    yield* messages;
  } catch (error) {
    throw error instanceof ParleyError ? error : readError(ConnectError.from(error));
  }
}

/** Codes of connect-node for a body that is malformed or too large. */
const unreadableCodes: ReadonlySet<Code> = new Set([
  Code.InvalidArgument,
  Code.Internal,
  Code.ResourceExhausted,
]);

/** Why connect-node could not read a request; undefined if it could, or if the client has left. */
export function unreadable({ reading }: GatedCall): ParleyError | undefined {
  if (reading?.aborted !== true) return undefined;
  if (reading.reason instanceof ParleyError) return reading.reason;
  const error = ConnectError.from(reading.reason);
  const isOwn = error.cause instanceof ParleyError;
  return isOwn || unreadableCodes.has(error.code) ? readError(error) : undefined;
}

function readError(cause: ConnectError): ParleyError {
  if (cause.cause instanceof ParleyError) return cause.cause;
  switch (cause.code) {
    case Code.Canceled:
    case Code.Aborted:
      return new ParleyError('request_cancelled', { cause });
    case Code.ResourceExhausted:
      return tooLarge(cause);
    default:
      return malformed(cause);
  }
}
