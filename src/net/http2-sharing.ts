/** Lets other protocols share the HTTP/2 connections of a gRPC server: its streams go to it, all others to the handler. */
import type { Http2Server, Http2ServerRequest, Http2ServerResponse, IncomingHttpHeaders } from 'node:http2';

export type Http2Handler = (request: Http2ServerRequest, response: Http2ServerResponse) => void;
type StreamListener = (...args: unknown[]) => void;

export function shareHttp2(server: Http2Server, handle: Http2Handler): void {
  const toGrpc = server.listeners('stream') as StreamListener[];
  server.removeAllListeners('stream');
  // Listening for requests makes Node add the listener that turns a stream into a request and a response.
  server.on('request', handle);
  const toRequest = server.listeners('stream') as StreamListener[];
  server.removeAllListeners('stream');
  server.on('stream', (...args) => {
    const [, headers] = args;
    for (const listener of isGrpc(headers) ? toGrpc : toRequest) listener.apply(server, args);
  });
}

/** gRPC-Web names itself `application/grpc-web`, and is not gRPC. */
function isGrpc(headers: IncomingHttpHeaders): boolean {
  return /^application\/grpc($|[+;])/.test(headers['content-type'] ?? '');
}
