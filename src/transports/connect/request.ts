/** Requests over Connect and gRPC-Web as connect-node takes them, with or without their body. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Http2ServerRequest, Http2ServerResponse } from 'node:http2';
import { type ContextValues, createContextKey } from '@connectrpc/connect';
import type { UniversalServerRequest } from '@connectrpc/connect/protocol';
import { universalRequestFromNodeRequest } from '@connectrpc/connect-node';
import type { Wire } from '../../core/ports/usage.ts';
import type { RequestHead, ServedCall } from '../run-call.ts';

export type Request = IncomingMessage | Http2ServerRequest;
export type Response = ServerResponse | Http2ServerResponse;

/** A call on its way to its function, or the error with which the gate refused it. */
export interface GatedCall {
  readonly served: ServedCall;
  readonly refusal: unknown;
  readonly response: Response;
}

export const gatedKey = createContextKey<GatedCall | undefined>(undefined);

export function headOf({ headers, socket }: Request): RequestHead {
  return {
    wire: wireOf(headers['content-type'] ?? ''),
    address: socket?.remoteAddress ?? '',
    header: (name) => {
      const value = headers[name];
      return typeof value === 'string' ? value : undefined;
    },
  };
}

function wireOf(contentType: string): Wire {
  if (contentType.startsWith('application/grpc-web')) return 'grpc-web';
  return contentType.startsWith('application/grpc') ? 'grpc' : 'connect';
}

/** Undefined if the Host header is no host: connect-node makes a URL of it. */
export function toUniversal(
  request: Request,
  response: Response,
  values: ContextValues,
): UniversalServerRequest | undefined {
  try {
    return universalRequestFromNodeRequest(request, response, undefined, values);
  } catch {
    return undefined;
  }
}

/** Headers that describe a body, which an empty message does not have. */
const bodyHeaders = ['content-length', 'content-encoding', 'connect-content-encoding', 'grpc-encoding'];

/**
 * The request of a refused call with an empty message for a body. connect-node then words the refusal in the client's protocol, and
 * the body that the client sends is never read.
 */
export function withoutBody(received: UniversalServerRequest): UniversalServerRequest {
  const header = new Headers(received.header);
  for (const name of bodyHeaders) header.delete(name);
  return { ...received, header, body: emptyMessage(header.get('content-type') ?? '') };
}

async function* emptyMessage(contentType: string): AsyncGenerator<Uint8Array> {
  const message = contentType.includes('json') ? Buffer.from('{}') : Buffer.alloc(0);
  const isEnveloped = /^application\/(grpc|connect\+)/.test(contentType);
  if (!isEnveloped) return yield message;
  const envelope = Buffer.alloc(5);
  envelope.writeUInt32BE(message.length, 1);
  yield Buffer.concat([envelope, message]);
}
