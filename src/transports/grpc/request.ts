/** Reads the head and the messages of gRPC requests. */
import type { IncomingHttpHeaders } from 'node:http2';
import type { Readable } from 'node:stream';
import { type DescMessage, fromBinary, type Message, type MessageShape } from '@bufbuild/protobuf';
import type { Client } from '../../core/access/gate.ts';
import { ParleyError } from '../../core/errors.ts';
import { malformedMessage } from '../rpc/errors.ts';
import type { RequestHead } from '../run-call.ts';

export function headOf(headers: IncomingHttpHeaders, client: Client): RequestHead {
  return {
    wire: 'grpc',
    client,
    header: (name) => {
      const value = headers[name];
      return typeof value === 'string' ? value : undefined;
    },
  };
}

const sizes = new WeakMap<Message, number>();

/**
 * Decodes a message and remembers how many bytes it had. Returns the error for a malformed one: on an exception grpc-js would answer
 * INTERNAL without details, or cancel a stream as if its client had left.
 */
export function decodeRequest<Desc extends DescMessage>(
  schema: Desc,
  bytes: Uint8Array,
): MessageShape<Desc> | ParleyError {
  try {
    const request = fromBinary(schema, bytes);
    sizes.set(request, bytes.length);
    return request;
  } catch (cause) {
    return new ParleyError('invalid_request_error', { message: malformedMessage, cause });
  }
}

export function requestBytes(request: Message): number {
  return sizes.get(request) ?? 0;
}

/** The messages of a client's stream, as `decodeRequest` has returned them. Throws the error of the first malformed one. */
export async function* requestsOf(call: Readable): AsyncGenerator<Message> {
  // Leaving the loop must not destroy the call, which still has to be answered.
  for await (const request of call.iterator({ destroyOnReturn: false })) {
    if (request instanceof ParleyError) throw request;
    yield request;
  }
}
