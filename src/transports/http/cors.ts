/** Allows web pages of listed origins to call over REST, Connect and gRPC-Web. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Http2ServerRequest, Http2ServerResponse } from 'node:http2';
import { rateHeaderNames } from '../rate-headers.ts';
import { noSniff } from './no-sniff.ts';
import type { PortHandler } from './server.ts';

/** How long a browser may cache the answer to a preflight request. */
const maxAgeSeconds = 7_200;
/** Response headers that a page may read. */
const exposed = [
  ...['x-request-id', 'retry-after', 'x-should-retry', 'idempotent-replayed', 'x-parley-model'],
  ...rateHeaderNames,
  ...['grpc-status', 'grpc-message', 'grpc-status-details-bin'],
].join(', ');

type Request = IncomingMessage | Http2ServerRequest;
type Response = ServerResponse | Http2ServerResponse;

/**
 * @param origins such as `https://app.example.com`, or `*` for all; if empty, none is allowed and `handle` gets OPTIONS
 * like any other request
 */
export function withCors(origins: readonly string[], handle: PortHandler): PortHandler {
  if (origins.length === 0) return handle;
  return (request, response, client) => {
    const { origin } = request.headers;
    const isAllowed = origin !== undefined && (origins.includes('*') || origins.includes(origin));
    // Caches must not serve one origin's answer to another.
    response.setHeader('vary', 'origin');
    if (isAllowed) response.setHeader('access-control-allow-origin', origin);
    if (isAllowed) response.setHeader('access-control-expose-headers', exposed);
    if (isPreflight(request)) answerPreflight(request, response, isAllowed);
    else handle(request, response, client);
  };
}

function isPreflight({ method, headers }: Request): boolean {
  return method === 'OPTIONS' && headers['access-control-request-method'] !== undefined;
}

function answerPreflight({ headers }: Request, response: Response, isAllowed: boolean): void {
  if (isAllowed) {
    response.setHeader('access-control-allow-methods', 'GET, POST');
    // Any header is safe: browsers never add keys by themselves, as they do cookies.
    const wanted = headers['access-control-request-headers'];
    if (wanted !== undefined) response.setHeader('access-control-allow-headers', wanted);
    response.setHeader('access-control-max-age', String(maxAgeSeconds));
  }
  response.setHeader(...noSniff);
  response.statusCode = 204;
  response.end();
}
