/** Waits until the body of a gRPC call may be in memory. */
import type { ServerHttp2Stream } from 'node:http2';
import { bytesUnpacked } from '../byte-budget.ts';
import { type AnyRpc, bodyBytesMax } from '../rpc/rpcs.ts';
import type { ServedCall } from '../run-call.ts';

/** A flag for compression, and the length of the message in four bytes. */
const messageHeadBytes = 5;

/**
 * Until it resolves, nothing of the body is read but the head of its first message, which stays in the stream.
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
  // Its messages stay in memory together, and only the first one's length would be known.
  if (rpc.kind === 'client-stream') return served.admitBytes(bytesMax);
  const head = await firstHead(stream);
  if (head === undefined) return;
  const length = head.readUInt32BE(1);
  // grpc-js refuses it without reading it.
  if (length > bytesMax) return;
  await served.admitBytes(messageHeadBytes + (head[0] === 0 ? length : bytesUnpacked(length, bytesMax)));
}

/** Undefined for a stream that ends before. */
function firstHead(stream: ServerHttp2Stream): Promise<Buffer | undefined> {
  return new Promise((resolve) => {
    const settle = (head: Buffer | undefined) => {
      stream.off('readable', look).off('end', leave).off('close', leave);
      resolve(head);
    };
    const leave = () => settle(undefined);
    const look = () => {
      const head: Buffer | null = stream.read(messageHeadBytes);
      if (head === null) return;
      stream.unshift(head);
      settle(head.length < messageHeadBytes ? undefined : head);
    };
    stream.on('readable', look).on('end', leave).on('close', leave);
    if (stream.readableEnded || stream.destroyed) leave();
  });
}
