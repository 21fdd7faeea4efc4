/** Reads requests of gRPC. */
import type { ServerHttp2Stream } from 'node:http2';
import type { Message } from '@bufbuild/protobuf';
import { ParleyError } from '../../core/values/errors.ts';
import { bytesUnpacked } from '../byte-budget.ts';
import { type Decompress, decompression } from '../content-encoding.ts';
import { decode, type Envelopes, headBytes, messagesIn } from '../rpc/envelopes.ts';
import { notOneMessage } from '../rpc/request-errors.ts';
import { type AnyRpc, bodyBytesMax, messageForm, type RpcLimits, type Sent } from '../rpc/rpcs.ts';
import type { ServedCall } from '../run-call.ts';

/** Compressions of messages, in requests. */
export const acceptedEncodings: readonly string[] = ['identity', 'gzip', 'deflate'];

/**
 * Undefined for messages that are not compressed.
 * @throws UNIMPLEMENTED for a compression that the server cannot unpack
 */
export function unpackerOf(encoding: string | undefined): Decompress | undefined {
  if (encoding === undefined || acceptedEncodings.includes(encoding)) return decompression(encoding);
  throw new ParleyError('invalid_request_error', {
    message: 'The server does not support this `grpc-encoding`. Use gzip, deflate or identity.',
    grpcCode: 'UNIMPLEMENTED',
  });
}

export interface Received {
  readonly sent: Sent;
  /** Bytes of the one message; 0 for a stream of messages. */
  readonly bytes: number;
}

/**
 * Reads the message of a call, or returns the stream of its messages.
 * @throws `overloaded` if the memory is used by others for too long; the errors of `messagesIn` and `decode`
 */
export async function receive(
  stream: ServerHttp2Stream,
  unpack: Decompress | undefined,
  rpc: AnyRpc,
  limits: RpcLimits,
  served: ServedCall,
): Promise<Received> {
  const form = messageForm(rpc, limits);
  const bodyMax = bodyBytesMax(rpc, limits.messageBytesMax);
  const body = { ...form, pieces: piecesOf(stream), unpack };
  if (form.isStream) {
    // The messages of a stream stay in memory together, and only the first one's length would be known.
    if (bodyMax !== undefined) await served.admitBytes(bodyMax);
    return { sent: decoded(body), bytes: 0 };
  }
  const admit = async (length: number, isPacked: boolean) => {
    if (bodyMax === undefined) return;
    await served.admitBytes(headBytes + (isPacked ? bytesUnpacked(length, bodyMax) : length));
  };
  let received: Received | undefined;
  for await (const bytes of messagesIn({ ...body, admit })) {
    received = { sent: decode(form, bytes), bytes: bytes.length };
  }
  if (received === undefined) throw notOneMessage();
  return received;
}

async function* decoded(body: Envelopes): AsyncGenerator<Message> {
  for await (const bytes of messagesIn(body)) yield decode(body, bytes);
}

/** Leaving the loop must not destroy the stream, which still carries the answer. */
async function* piecesOf(stream: ServerHttp2Stream): AsyncGenerator<Uint8Array> {
  try {
    yield* stream.iterator({ destroyOnReturn: false });
  } catch (cause) {
    throw new ParleyError('request_cancelled', { cause });
  }
}
