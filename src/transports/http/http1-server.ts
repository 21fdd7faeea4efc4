import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import { refuseBadRequests, refuseHeaders } from './bad-request.ts';
import type { ServerLimits } from './limits.ts';
import type { TlsPair } from './tls-pair.ts';

export type Http1Handler = (request: IncomingMessage, response: ServerResponse) => void;

/** The default of 30 s would let a slow client keep its socket for that much longer than its limit. */
const connectionsCheckMs = 1_000;

/**
 * The server of HTTP/1, with TLS where there is a pair of certificate and key. Of all servers on a port it must be the
 * one that listens: Node watches its slow clients only then.
 */
export function createHttp1Server(limits: ServerLimits, handle: Http1Handler, tls?: TlsPair): Server {
  const options = {
    // Node refuses one that is longer than that of the whole request.
    headersTimeout: Math.min(limits.headersMsMax, limits.bodyMsMax),
    requestTimeout: limits.bodyMsMax,
    keepAliveTimeout: limits.keepAliveMs,
    maxHeaderSize: limits.headerBytesMax,
    connectionsCheckingInterval: connectionsCheckMs,
    noDelay: true,
  };
  const server = tls ? tlsServer(options, limits, tls) : createServer(options);
  server.timeout = limits.stallMsMax;
  // One more than may be: Node leaves out those after it in silence.
  server.maxHeadersCount = limits.headerCountMax + 1;
  const receive: Http1Handler = (request, response) => {
    endStalledAnswer(response);
    if (request.rawHeaders.length / 2 > limits.headerCountMax) refuseHeaders(response);
    else handle(request, response);
  };
  server.on('request', receive);
  // The handler itself says when the body may come: a refused request is spared sending it.
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
  // Node would hand these on as errors of HTTP, to be answered on a socket that cannot carry an answer.
  server.removeAllListeners('tlsClientError');
  server.on('tlsClientError', (_, socket) => socket.destroy());
  tls.serve(server);
  return server;
}

/** The socket was silent for the time: on both sides where nothing waits to be sent, else it is the client that does not read. */
function endStalledAnswer(response: ServerResponse): void {
  response.on('timeout', (socket) => {
    if (socket.writableLength > 0) socket.destroy();
  });
}
