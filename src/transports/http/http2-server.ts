/** One HTTP/2 server for gRPC and everything else. The content type of a stream selects its handler. */
import {
  createServer,
  type Http2Server,
  type Http2ServerRequest,
  type Http2ServerResponse,
  type IncomingHttpHeaders,
  type ServerHttp2Stream,
} from 'node:http2';
import { refuseRequest } from './bad-request.ts';
import type { ServerLimits } from './limits.ts';

export type Http2Handler = (request: Http2ServerRequest, response: Http2ServerResponse) => void;
type StreamListener = (...args: unknown[]) => void;

export interface Http2Handlers {
  readonly handle: Http2Handler;
  readonly grpc: (stream: ServerHttp2Stream, headers: IncomingHttpHeaders) => void;
}

/** `:method`, `:scheme` and `:path`. They do not count as headers, but `:authority` does, in place of `Host`. */
const pseudoHeaders = 3;
/** Node counts the memory of a session in these. */
const megabyte = 1_000_000;

/**
 * Requests that a client may cancel at once, and then in each second. Above it nghttp2 ends the connection, within the
 * packet.
 */
const [streamResetBurst, streamResetRate] = [250, 100];

/** Creates a server that does not listen, but is passed sockets that speak HTTP/2. */
export function createHttp2Server(limits: ServerLimits, { handle, grpc }: Http2Handlers): Http2Server {
  const server = createServer({
    settings: {
      maxConcurrentStreams: limits.streamsPerConnectionMax,
      maxHeaderListSize: limits.headerBytesMax,
      enablePush: false,
    },
    maxHeaderListPairs: limits.headerCountMax + pseudoHeaders,
    maxSessionMemory: limits.sessionBytesMax / megabyte,
    streamResetBurst,
    streamResetRate,
  });
  // With the first listener for requests, Node adds one that turns a stream into a request and a response.
  server.on('request', handle);
  server.on('checkContinue', handle);
  server.on('connect', handle);
  server.on('checkExpectation', (request, response) => refuseRequest(request, response, 417));
  const toRequest = server.listeners('stream') as StreamListener[];
  server.removeAllListeners('stream');
  server.on('stream', (...args) => {
    const [stream, headers] = args;
    // The handlers learn of the end by `close`.
    stream.on('error', () => undefined);
    // The client has already reset the stream. Both handlers would throw an error that nothing catches.
    if (stream.destroyed || stream.closed) return;
    if (isGrpc(headers)) grpc(stream, headers);
    else for (const listener of toRequest) listener.apply(server, args);
  });
  // Streams close when their connection breaks, so the error itself needs no handling.
  server.on('sessionError', () => undefined);
  return server;
}

/** gRPC-Web, and gRPC with another method or content type than this, go to the handler of Connect, as over HTTP/1. */
function isGrpc(headers: IncomingHttpHeaders): boolean {
  const type = headers['content-type'] ?? '';
  return headers[':method'] === 'POST' && /^application\/grpc(\+proto)?\s*($|;)/i.test(type);
}
