/** Waits until the body of a gRPC call may be in memory. */
import type { ServerHttp2Stream } from 'node:http2';
import { ParleyError } from '../../core/values/errors.ts';
import { bytesUnpacked } from '../byte-budget.ts';
import { type AnyRpc, bodyBytesMax } from '../rpc/rpcs.ts';
import type { ServedCall } from '../run-call.ts';
import { frameHeadBytes } from './frames.ts';

/** Message compressions that grpc-js supports. */
export const acceptedEncodings: readonly string[] = ['identity', 'gzip', 'deflate'];

/** @throws UNIMPLEMENTED for a compression that the server cannot unpack */
export function checkEncoding(encoding = 'identity'): void {
  if (acceptedEncodings.includes(encoding)) return;
  throw new ParleyError('invalid_request_error', {
    message: 'The server does not support this `grpc-encoding`. Use gzip, deflate or identity.',
    grpcCode: 'UNIMPLEMENTED',
  });
}

/**
 * Until it resolves, only the head of the first message is read, and stays in the stream.
 * @param largest the configured limit of a large message
 * @throws `overloaded`
 */
export async function admitBody(
  stream: ServerHttp2Stream,
  rpc: AnyRpc,
  served: ServedCall,
  largest: number,
): Promise<void> {
  const bytesMax = bodyBytesMax(rpc, largest);
  if (bytesMax === undefined) return;
  // The messages of a stream stay in memory together, but only the first one's length would be known.
  if (rpc.kind === 'client-stream') return served.admitBytes(bytesMax);
  const head = await firstHead(stream);
  if (head === undefined) return;
  const length = head.readUInt32BE(1);
  // grpc-js refuses the message without reading it.
  if (length > bytesMax) return;
  await served.admitBytes(frameHeadBytes + (head[0] === 0 ? length : bytesUnpacked(length, bytesMax)));
}

/** The head of the first message. Undefined for a stream that ends before. */
async function firstHead(stream: ServerHttp2Stream): Promise<Buffer | undefined> {
  // Usually the head has arrived while the gate was asked.
  const head = peek(stream) ?? (await nextHead(stream));
  return head && head.length < frameHeadBytes ? undefined : head;
}

function nextHead(stream: ServerHttp2Stream): Promise<Buffer | undefined> {
  return new Promise((resolve) => {
    const settle = (head: Buffer | undefined) => {
      stream.off('readable', look).off('end', leave).off('close', leave);
      resolve(head);
    };
    const leave = () => settle(undefined);
    const look = () => {
      const head = peek(stream);
      if (head !== undefined) settle(head);
    };
    stream.on('readable', look).on('end', leave).on('close', leave);
    if (stream.readableEnded || stream.destroyed) leave();
  });
}

/**
 * The bytes of a head, or all bytes of a stream that has ended; undefined until they have arrived. The bytes stay in
 * the stream.
 */
function peek(stream: ServerHttp2Stream): Buffer | undefined {
  const head: Buffer | null = stream.read(frameHeadBytes);
  if (head === null) return undefined;
  stream.unshift(head);
  return head;
}
