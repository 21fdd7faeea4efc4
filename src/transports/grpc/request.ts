/** Reads requests of gRPC. */
import type { ServerHttp2Stream } from 'node:http2';
import { ParleyError } from '../../core/values/errors.ts';
import { bytesUnpacked } from '../byte-budget.ts';
import { type Decompress, decompression } from '../content-encoding.ts';
import { headBytes, messagesIn } from '../rpc/envelopes.ts';
import { BodyPieces, binary, type Received, receive } from '../rpc/request.ts';
import { type AnyRpc, bodyBytesMax, messageForm, type RpcLimits } from '../rpc/rpcs.ts';
import type { ServedCall } from '../run-call.ts';

/** Compressions of messages, in requests. */
export const acceptedEncodings: readonly string[] = ['identity', 'gzip', 'deflate'];

/**
 * Undefined for messages that are not compressed.
 * @throws UNIMPLEMENTED for a compression that the server cannot unpack
 */
export function unpackerOf(encoding: string | undefined): Decompress | undefined {
  if (encoding === undefined || acceptedEncodings.includes(encoding))
    return decompression(encoding, 'grpc-encoding');
  throw new ParleyError('invalid_request_error', {
    message: 'The server does not support this `grpc-encoding`. Use gzip, deflate or identity.',
    grpcCode: 'UNIMPLEMENTED',
  });
}

/**
 * Reads the message of a call, or returns the stream of its messages.
 * @throws `overloaded` if others use the memory for too long; the errors of `messagesIn` and `receive`
 */
export async function receiveFrom(
  stream: ServerHttp2Stream,
  unpack: Decompress | undefined,
  rpc: AnyRpc,
  limits: RpcLimits,
  served: ServedCall,
): Promise<Received> {
  const form = messageForm(rpc, limits);
  const bodyMax = bodyBytesMax(rpc, limits.messageBytesMax);
  // The messages of a stream stay in memory together, and only the first one's length would be known.
  if (form.isStream && bodyMax !== undefined) await served.body.admit(bodyMax);
  const admit = (length: number, isPacked: boolean) => {
    const bytes = headBytes + (isPacked && bodyMax ? bytesUnpacked(length, bodyMax) : length);
    return bodyMax === undefined || served.body.tryAdmit(bytes) ? undefined : served.body.admit(bytes);
  };
  const {
    isStream,
    limits: { bytesMax },
  } = form;
  // A stream with listeners and unread bytes does not close, and a refused session is not read.
  const pieces = { [Symbol.asyncIterator]: () => new BodyPieces(stream) };
  const messages = messagesIn({ pieces, unpack, isStream, bytesMax, admit });
  return receive(form, messages, binary);
}
