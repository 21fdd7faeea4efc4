import { createServer, type IncomingMessage, type Server, ServerResponse } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import { Socket } from 'node:net';
import type { TLSSocket } from 'node:tls';
import type { Client } from '../../core/access/gate.ts';
import { pathOf } from '../request-head.ts';
import { closeIdle, isClosing, refuseBadRequests, refusePlainHttp, refuseRequest } from './bad-request.ts';
import type { ServerLimits } from './limits.ts';
import { afterAnswers, unanswered } from './pipeline.ts';
import type { TlsPair } from './tls-pair.ts';

// Node leaves these rules of HTTP/1 for a request's head to the handler, or enforces them without an answer in JSON.

/** `host`, `host:port`, or empty (RFC 9110, 7.2, and RFC 3986, 3.2). */
const hostPattern = /^(\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9\-._~%!$&'()*+,;=]*)(:\d*)?$/;
const versions: readonly string[] = ['1.0', '1.1'];

/** The status with which the request is refused; undefined for a valid one. */
function faultOf(request: IncomingMessage, headerCountMax: number): 400 | 431 | 505 | undefined {
  const { httpVersion, rawHeaders } = request;
  if (!versions.includes(httpVersion)) return 505;
  if (rawHeaders.length / 2 > headerCountMax) return 431;
  let hosts = 0;
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = rawHeaders[index];
    if (name?.length === 4 && name.toLowerCase() === 'host') hosts++;
  }
  const isHostMissing = hosts === 0 && httpVersion === '1.1';
  return hosts > 1 || isHostMissing || !hostPattern.test(request.headers.host ?? '') ? 400 : undefined;
}

/** Takes over the connection of a request for another protocol. @param head bytes that came after the request's head */
export type UpgradeHandler = (request: IncomingMessage, socket: Socket, head: Buffer, client: Client) => void;

export interface Upgrades {
  /** The only paths at which a connection may become a WebSocket. Elsewhere the request is answered as any other. */
  readonly paths: RegExp;
  readonly take: (request: IncomingMessage, socket: Socket, head: Buffer) => void;
}

export type Http1Handler = (request: IncomingMessage, response: ServerResponse) => void;

/** With Node's default of 30 s a slow client would keep its socket 30 s beyond its limit. */
const connectionsCheckMs = 1_000;

/**
 * Creates the HTTP/1 server, with TLS if there is a certificate with its key. This server must be the one that listens
 * on the port: Node enforces timeouts only on a listening server.
 */
export function createHttp1Server(
  limits: ServerLimits,
  handle: Http1Handler,
  upgrades: Upgrades | undefined,
  tls?: TlsPair,
): Server {
  const options = {
    // Node refuses a value above `requestTimeout`.
    headersTimeout: Math.min(limits.headersMsMax, limits.bodyMsMax),
    requestTimeout: limits.bodyMsMax,
    keepAliveTimeout: limits.keepAliveMs,
    maxHeaderSize: limits.headerBytesMax,
    connectionsCheckingInterval: connectionsCheckMs,
    // Node would refuse such a request with an empty body.
    requireHostHeader: false,
    noDelay: true,
    // A request without a body has already ended when it arrives, without events.
    optimizeEmptyRequests: true,
    shouldUpgradeCallback: (request: IncomingMessage) =>
      request.method === 'GET' &&
      request.headers.upgrade?.toLowerCase() === 'websocket' &&
      upgrades?.paths.test(pathOf(request.url)) === true,
  };
  const server = tls ? tlsServer(options, limits, tls) : createServer(options);
  server.timeout = limits.stallMsMax;
  // One above the limit, to notice too many headers, as Node drops the rest silently.
  server.maxHeadersCount = limits.headerCountMax + 1;
  server.on('timeout', (socket: Socket) => {
    const count = unanswered(socket);
    if (count === undefined) socket.destroy();
    else if (count === 0) closeIdle(socket);
  });
  const receive: Http1Handler = (request, response) => {
    if (isClosing(request.socket)) return;
    response.on('timeout', cutStalled);
    const fault = faultOf(request, limits.headerCountMax);
    if (fault === undefined) handle(request, response);
    else refuseRequest(request, response, fault);
  };
  server.on('request', receive);
  // Handlers send 100 Continue themselves, so that a client whose request is refused need not send the body.
  server.on('checkContinue', receive);
  server.on('checkExpectation', (request, response) => refuseRequest(request, response, 417));
  server.on('upgrade', (request: IncomingMessage, socket: Socket, head: Buffer) => {
    if (isClosing(socket)) return;
    socket.setTimeout(0);
    afterAnswers(socket, () => {
      const fault = faultOf(request, limits.headerCountMax);
      if (fault === undefined) upgrades?.take(request, socket, head);
      else refuseRequest(request, lastAnswerOf(request, socket), fault);
    });
  });
  server.on('connect', (request: IncomingMessage, socket: Socket) => {
    afterAnswers(socket, () => receive(request, lastAnswerOf(request, socket)));
  });
  refuseBadRequests(server);
  return server;
}

/** The answer to a request for which Node creates none. Ends the connection. */
export function lastAnswerOf(request: IncomingMessage, socket: Socket): ServerResponse {
  const response = new ServerResponse(request);
  response.shouldKeepAlive = false;
  response.assignSocket(socket);
  response.once('finish', () => socket.destroySoon());
  // Node has removed its own listeners.
  socket.on('error', () => undefined).resume();
  return response;
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
  server.on('tlsClientError', (error: NodeJS.ErrnoException, socket) => {
    const plain = error.code === 'ERR_SSL_HTTP_REQUEST' ? plainSocketOf(socket) : undefined;
    if (plain) refusePlainHttp(plain);
    else socket.destroy();
  });
  tls.serve(server);
  return server;
}

/** The socket below TLS, which Node keeps in a private field. */
function plainSocketOf(socket: TLSSocket): Socket | undefined {
  const plain: unknown = Reflect.get(socket, '_parent');
  return plain instanceof Socket && !plain.destroyed ? plain : undefined;
}

/**
 * Disconnects a client that does not read its answer. If nothing waits to be sent, the engine is slow, and the answer
 * continues.
 */
function cutStalled(socket: Socket): void {
  if (socket.writableLength > 0) socket.destroy();
}
