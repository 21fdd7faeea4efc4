/** The head and the size of a gRPC request. */
import type { IncomingHttpHeaders, ServerHttp2Stream } from 'node:http2';
import type { Readable } from 'node:stream';
import { type DescMessage, fromBinary, type Message, type MessageShape } from '@bufbuild/protobuf';
import type { RequestHead } from '../run-call.ts';

export function headOf({ session }: ServerHttp2Stream, headers: IncomingHttpHeaders): RequestHead {
  return {
    wire: 'grpc',
    address: session?.socket?.remoteAddress ?? '',
    header: (name) => {
      const value = headers[name];
      return typeof value === 'string' ? value : undefined;
    },
  };
}

const sizes = new WeakMap<Message, number>();

/** Decodes a request and remembers how many bytes it had. */
export function decodeRequest<Desc extends DescMessage>(schema: Desc, bytes: Uint8Array): MessageShape<Desc> {
  const request = fromBinary(schema, bytes);
  sizes.set(request, bytes.length);
  return request;
}

export function requestBytes(request: Message): number {
  return sizes.get(request) ?? 0;
}

/** The messages of a client's stream. Leaving a loop over them does not destroy the call, which still has to be answered. */
export function requestsOf(call: Readable): AsyncIterable<Message> {
  return { [Symbol.asyncIterator]: () => call.iterator({ destroyOnReturn: false }) };
}
