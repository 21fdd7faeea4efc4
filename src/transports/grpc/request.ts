/** Reads the messages of gRPC requests. */
import type { Readable } from 'node:stream';
import { type DescMessage, fromBinary, type Message } from '@bufbuild/protobuf';
import type { RequestLimits } from '../../codec/json-scan.ts';
import { scanMessage } from '../../codec/message-scan.ts';
import { ParleyError } from '../../core/values/errors.ts';
import { refuseExcess } from '../refusals.ts';
import { malformed } from '../rpc/request-errors.ts';
import type { Sent } from '../rpc/rpcs.ts';
import type { Frames } from './frames.ts';

/** A message of a request with its size, or a stream of messages of unknown size. */
export interface Received<Form extends Sent = Message> {
  readonly sent: Form;
  readonly bytes: number;
}

/**
 * Decodes a message. Returns the error for a malformed or too large message or one with unknown fields: on an exception
 * grpc-js would answer INTERNAL without details, or cancel a stream as if its client had left.
 */
export function decodeRequest(
  schema: DescMessage,
  bytes: Uint8Array,
  limits: RequestLimits,
): Received | ParleyError {
  try {
    refuseExcess(scanMessage(schema, bytes, limits), limits);
    return { sent: fromBinary(schema, bytes), bytes: bytes.length };
  } catch (cause) {
    return cause instanceof ParleyError ? cause : malformed(cause);
  }
}

export function requestsOf(call: Readable, frames: Frames): Received<AsyncIterable<Message>> {
  return { sent: messagesOf(call, frames), bytes: 0 };
}

/**
 * The messages of a client's stream, as `decodeRequest` returned them. Throws the first error of a frame or a message.
 */
async function* messagesOf(call: Readable, frames: Frames): AsyncGenerator<Message> {
  // Leaving the loop must not destroy the call, which still needs an answer.
  const received: AsyncIterable<Received | ParleyError> = call.iterator({ destroyOnReturn: false });
  for await (const request of received) {
    frames.check();
    if (request instanceof ParleyError) throw request;
    yield request.sent;
  }
  frames.check();
}
