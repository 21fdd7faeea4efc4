import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import { refuseBadRequests, refuseHeaders } from './bad-request.ts';
import type { ServerLimits } from './limits.ts';
import type { TlsPair } from './tls-pair.ts';

export type Http1Handler = (request: IncomingMessage, response: ServerResponse) => void;

/** With Node's default of 30 s a slow client would keep its socket 30 s beyond its limit. */
const connectionsCheckMs = 1_000;

/**
 * Creates the HTTP/1 server, with TLS if there is a pair of certificate and key. It must be the one that listens on the port: Node
 * enforces timeouts only on a listening server.
 */
export function createHttp1Server(limits: ServerLimits, handle: Http1Handler, tls?: TlsPair): Server {
  const options = {
    // Node refuses a value above `requestTimeout`.
    headersTimeout: Math.min(limits.headersMsMax, limits.bodyMsMax),
    requestTimeout: limits.bodyMsMax,
    keepAliveTimeout: limits.keepAliveMs,
    maxHeaderSize: limits.headerBytesMax,
    connectionsCheckingInterval: connectionsCheckMs,
    noDelay: true,
  };
  const server = tls ? tlsServer(options, limits, tls) : createServer(options);
  server.timeout = limits.stallMsMax;
  // One above the limit, to notice too many: Node drops the rest silently.
  server.maxHeadersCount = limits.headerCountMax + 1;
  const receive: Http1Handler = (request, response) => {
    endStalledAnswer(response);
    if (request.rawHeaders.length / 2 > limits.headerCountMax) refuseHeaders(response);
    else handle(request, response);
  };
  server.on('request', receive);
  // The handler sends 100 Continue itself, so that a client whose request is refused need not send the body.
  server.on('checkContinue', receive);
  refuseBadRequests(server);
  return server;
}

function tlsServer(options: object, limits: ServerLimits, tls: TlsPair): Server {
  const server = createTlsServer({
    ...options,
    ...tls.context,
    ALPNProtocols: ['h2', 'http/1.1'],
    handshakeTimeout: limits.headersMsMax,
  });
  // By default Node emits `clientError`, whose listener would answer on a socket that cannot carry an answer.
  server.removeAllListeners('tlsClientError');
  server.on('tlsClientError', (_, socket) => socket.destroy());
  tls.serve(server);
  return server;
}

/** Cuts a client that does not read its answer. If nothing waits to be sent, the engine is the slow one, and the answer goes on. */
function endStalledAnswer(response: ServerResponse): void {
  response.on('timeout', (socket) => {
    if (socket.writableLength > 0) socket.destroy();
  });
}
