/** One HTTP/2 server for gRPC and all else, each stream handed to whom its content type names. */
import {
  createServer,
  type Http2Server,
  type Http2ServerRequest,
  type Http2ServerResponse,
  type IncomingHttpHeaders,
  type ServerHttp2Stream,
} from 'node:http2';
import type { ServerLimits } from './limits.ts';

export type Http2Handler = (request: Http2ServerRequest, response: Http2ServerResponse) => void;
export type StreamHandler = (stream: ServerHttp2Stream, headers: IncomingHttpHeaders) => void;
type StreamListener = (...args: unknown[]) => void;

export interface Http2Handlers {
  readonly handle: Http2Handler;
  readonly grpc: StreamHandler;
}

/** `:method`, `:scheme` and `:path`, which are no headers elsewhere; `:authority` stands for `Host`. */
const pseudoHeaders = 3;
/** Megabytes of what Node and nghttp2 keep for a connection; beyond it streams are refused. */
const sessionMemoryMax = 10;

/** It listens nowhere: sockets that speak HTTP/2 are handed to it. */
export function createHttp2Server(limits: ServerLimits, { handle, grpc }: Http2Handlers): Http2Server {
  const server = createServer({
    settings: {
      maxConcurrentStreams: limits.streamsPerConnectionMax,
      maxHeaderListSize: limits.headerBytesMax,
      enablePush: false,
    },
    maxHeaderListPairs: limits.headerCountMax + pseudoHeaders,
    maxSessionMemory: sessionMemoryMax,
  });
  // Listening for requests makes Node add the listener that turns a stream into a request and a response.
  server.on('request', handle);
  server.on('checkContinue', handle);
  const toRequest = server.listeners('stream') as StreamListener[];
  server.removeAllListeners('stream');
  server.on('stream', (...args) => {
    const [stream, headers] = args;
    // Whoever serves it hears of its end otherwise.
    stream.on('error', () => undefined);
    // Reset in the same breath as opened. Both sides would throw on it, where nobody can catch.
    if (stream.destroyed || stream.closed) return;
    if (isGrpc(headers)) grpc(stream, headers);
    else for (const listener of toRequest) listener.apply(server, args);
  });
  // A connection that breaks is its own business.
  server.on('sessionError', () => undefined);
  return server;
}

/** gRPC-Web names itself `application/grpc-web`, and is not gRPC. */
function isGrpc(headers: IncomingHttpHeaders): boolean {
  return /^application\/grpc($|[+;])/.test(headers['content-type'] ?? '');
}
