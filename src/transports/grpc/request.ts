/** Reads the head and the messages of gRPC requests. */
import type { IncomingHttpHeaders } from 'node:http2';
import type { Readable } from 'node:stream';
import { type DescMessage, fromBinary, type Message, type MessageShape } from '@bufbuild/protobuf';
import type { ElementLimits } from '../../codec/json-scan.ts';
import { scanMessage } from '../../codec/message-scan.ts';
import type { Client } from '../../core/access/gate.ts';
import { ParleyError } from '../../core/errors.ts';
import { refuseExcess } from '../refuse-excess.ts';
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
 * Decodes a message and remembers how many bytes it had. Returns the error for a malformed one, or one over the limits: on an exception grpc-js would answer
 * INTERNAL without details, or cancel a stream as if its client had left.
 */
export function decodeRequest<Desc extends DescMessage>(
  schema: Desc,
  bytes: Uint8Array,
  limits: ElementLimits,
): MessageShape<Desc> | ParleyError {
  try {
    refuseExcess(scanMessage(schema, bytes, limits), limits);
    const request = fromBinary(schema, bytes);
    sizes.set(request, bytes.length);
    return request;
  } catch (cause) {
    if (cause instanceof ParleyError) return cause;
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
