/** Writes answers to grpc-js: the head once, the parts with backpressure. */

import type { Message } from '@bufbuild/protobuf';
import {
  Metadata,
  type ServerDuplexStream,
  type ServerWritableStream,
  type ServiceError,
} from '@grpc/grpc-js';
import type { ParleyError } from '../../core/values/errors.ts';
import type { Signal } from '../../core/values/signal.ts';
import { drained } from '../drained.ts';
import type { Responses } from '../rpc/rpcs.ts';
import type { ServedCall } from '../run-call.ts';
import type { Received } from './request.ts';

export type WritableCall =
  | ServerWritableStream<Received | ParleyError, Buffer>
  | ServerDuplexStream<Message, Buffer>;

export function answerHead({ id, isReplay, rateHeaders }: ServedCall): Metadata {
  const head = new Metadata();
  head.set('x-request-id', id);
  for (const [name, value] of Object.entries(rateHeaders)) head.set(name, value);
  if (isReplay) head.set('idempotent-replayed', 'true');
  return head;
}

/** Writes all parts. A slow client slows the engine. */
export async function writeAll(
  call: WritableCall,
  { batches, toMessage }: Responses,
  encode: (message: Message) => Buffer,
  begin: () => void,
  signal: Signal,
): Promise<void> {
  for await (const parts of batches) {
    begin();
    for (const part of parts) if (!call.write(encode(toMessage(part)))) await drained(call, signal);
  }
}

/**
 * Ends a call with an error, after the messages that still wait. Only the listener of grpc-js may hear of it, its first: that of
 * the iterator over the requests would destroy the call, and the messages with it.
 */
export function endWith(call: WritableCall, error: ServiceError): void {
  const [ofGrpc] = call.listeners('error');
  if (ofGrpc === undefined) throw new Error('This version of @grpc/grpc-js ends its calls in another way.');
  ofGrpc.call(call, error);
}
