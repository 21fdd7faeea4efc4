/**
 * Answers requests that reach no handler, in the shape of every other error: malformed, slow or oversized requests, and
 * too many connections.
 */
import { type IncomingMessage, type Server, ServerResponse } from 'node:http';
import type { Http2ServerRequest, Http2ServerResponse } from 'node:http2';
import type { Socket } from 'node:net';
import { drainBody } from './drain-body.ts';
import { noSniff } from './no-sniff.ts';
import { abandonAnswers, afterAnswers, isAnswering, noteAnswers } from './pipeline.ts';

type Status = 400 | 408 | 417 | 431 | 503 | 505;

const reasons: Readonly<Record<Status, readonly [reason: string, message: string]>> = {
  400: ['Bad Request', 'The request is not valid HTTP. Check the request line and the headers.'],
  408: [
    'Request Timeout',
    'The request did not arrive in time. Send its headers and its body without a pause.',
  ],
  417: ['Expectation Failed', 'The only supported expectation is `Expect: 100-continue`.'],
  431: ['Request Header Fields Too Large', 'The request has too many headers, or too large ones. Send less.'],
  503: ['Service Unavailable', 'The server has too many connections. Wait, then try again.'],
  505: ['HTTP Version Not Supported', 'Send the request in HTTP/1.1 or HTTP/1.0, or in frames of HTTP/2.'],
};

/** Sockets that get no further answer. */
const refused = new WeakSet<Socket>();
const lingering = new Set<Socket>();
/** Maximum number of connections that are closed with an answer at once. Further ones are closed without an answer. */
const lingeringMax = 4_096;
/** How long a closing connection is read, so that a client that sends a request meanwhile can read the answer. */
const lingerMs = 1_000;
const idleMessage =
  'The connection was idle and is closed. A request that crossed this answer has not run: send it again.';

/** Whether requests of a connection go unanswered, as it closes. */
export function isClosing(socket: Socket): boolean {
  return refused.has(socket);
}

/**
 * Closes an idle connection with 408: clients, proxies and SDKs that send a request at this moment know that it may be
 * repeated (RFC 9110, 15.5.9). A connection on which bytes have arrived in the meantime stays open.
 */
export function closeIdle(socket: Socket): void {
  const { bytesRead } = socket;
  // A timer may run before bytes are read that arrived long ago. The immediate runs after them.
  setImmediate(() => {
    if (socket.bytesRead !== bytesRead || refused.has(socket)) return;
    refuse(socket, 408, idleMessage);
    linger(socket);
  });
}

/**
 * Closes a connection for which there is no room. Unless an answer has begun, its client gets 503; a request that it
 * has sent ends as if the client had left.
 */
export function turnAway(socket: Socket): void {
  if (lingering.has(socket)) return;
  if (refused.has(socket) || lingering.size >= lingeringMax || isAnswering(socket)) {
    socket.destroy();
    return;
  }
  abandonAnswers(socket);
  refuse(socket, 503);
  linger(socket);
}

/** Reads and drops further data, as a reset would discard the answer. */
function linger(socket: Socket): void {
  refused.add(socket);
  // The socket's `close` may already have been emitted.
  if (socket.destroyed) return;
  lingering.add(socket);
  const timer = setTimeout(() => socket.destroy(), lingerMs).unref();
  socket.on('error', () => undefined);
  socket.once('close', () => {
    clearTimeout(timer);
    lingering.delete(socket);
  });
}

/** Answers requests that the HTTP/1 parser refuses or that arrive too late. */
export function refuseBadRequests(server: Server): void {
  noteAnswers(server);
  server.on('clientError', (error: NodeJS.ErrnoException, socket: Socket) => {
    // Node closes the connection after the answer that announces this. Until then more data has no effect.
    if (error.code === 'HPE_CLOSED_CONNECTION' || refused.has(socket)) return;
    // Another answer cannot be sent in the middle of one.
    if (error.code === 'ECONNRESET' || !socket.writable || isAnswering(socket)) {
      socket.destroy();
      return;
    }
    refused.add(socket);
    afterAnswers(socket, () => {
      refuse(socket, statusOf(error));
      linger(socket);
    });
  });
}

/** Answers a request without reading its body. */
export function refuseRequest(
  request: IncomingMessage | Http2ServerRequest,
  response: ServerResponse | Http2ServerResponse,
  status: Status,
): void {
  const body = bodyOf(status);
  response.statusCode = status;
  response.setHeader(...noSniff);
  response.setHeader('content-type', 'application/json');
  response.setHeader('content-length', Buffer.byteLength(body));
  if (response instanceof ServerResponse) response.setHeader('connection', 'close');
  response.end(body);
  drainBody(request);
}

/** Answers plain HTTP on a TLS port, from a client that follows an `http://` address. Node closes the socket then. */
export function refusePlainHttp(socket: Socket): void {
  socket.on('error', () => socket.destroy());
  refuse(socket, 400, 'This port only accepts HTTPS. Send the request to the same address with https://.');
}

function statusOf({ code }: NodeJS.ErrnoException): Status {
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT') return 408;
  return code === 'HPE_HEADER_OVERFLOW' ? 431 : 400;
}

function refuse(socket: Socket, status: Status, message?: string): void {
  if (!socket.writable) return;
  const body = bodyOf(status, message);
  const head = [
    `HTTP/1.1 ${status} ${reasons[status][0]}`,
    'content-type: application/json',
    noSniff.join(': '),
    `content-length: ${Buffer.byteLength(body)}`,
    'connection: close',
    ...(status === 503 ? ['retry-after: 2'] : []),
  ];
  socket.end(`${head.join('\r\n')}\r\n\r\n${body}`);
}

function bodyOf(status: Status, message = reasons[status][1]): string {
  const isBusy = status === 503;
  const type = isBusy ? 'server_error' : 'invalid_request_error';
  return JSON.stringify({ error: { message, type, param: null, code: isBusy ? 'overloaded' : type } });
}
