import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { Http2Server, Http2ServerRequest, Http2ServerResponse } from 'node:http2';
import type { AddressInfo, Socket } from 'node:net';
import { Http2Sessions } from './http2-sessions.ts';
import { shareHttp2 } from './http2-sharing.ts';
import { sniff } from './sniff.ts';

export interface ServerLimits {
  readonly connectionsMax: number;
  readonly headersMsMax: number;
  readonly headerBytesMax: number;
  readonly bodyMsMax: number;
  readonly keepAliveMs: number;
}

export interface ServerOptions {
  readonly host: string;
  /** 0 takes any free port. */
  readonly port: number;
  readonly limits: ServerLimits;
  /** Answers what is not gRPC, over HTTP/1.1 and HTTP/2 alike. */
  readonly handle: PortHandler;
  /** The HTTP/2 server of gRPC, which listens nowhere; it is handed the sockets that speak HTTP/2. */
  readonly http2: Http2Server;
}

export type PortHandler = (
  request: IncomingMessage | Http2ServerRequest,
  response: ServerResponse | Http2ServerResponse,
) => void;

export interface RunningServer {
  /** `http://127.0.0.1:8080`, with the port that was taken. */
  readonly origin: string;
  /** Stops listening, lets requests in flight finish for at most `drainMs`, then cuts them. */
  close(drainMs: number): Promise<void>;
}

/** The default of 30 s would let a slow client keep its socket for that much longer than its limit. */
const connectionsCheckMs = 1_000;
const headersMax = 100;
const idleCheckMs = 20;

/** Listens. Rejects where the address cannot be had. */
export async function startServer({
  host,
  port,
  limits,
  handle,
  http2,
}: ServerOptions): Promise<RunningServer> {
  const server = createServer(
    {
      headersTimeout: limits.headersMsMax,
      requestTimeout: limits.bodyMsMax,
      keepAliveTimeout: limits.keepAliveMs,
      maxHeaderSize: limits.headerBytesMax,
      connectionsCheckingInterval: connectionsCheckMs,
    },
    handle,
  );
  server.maxConnections = limits.connectionsMax;
  server.maxHeadersCount = headersMax;
  // The handler itself says when the body may come: a refused request is spared sending it.
  server.on('checkContinue', handle);
  server.on('clientError', refuseBadRequest);
  shareHttp2(http2, handle);
  const sessions = new Http2Sessions(http2);
  sniffConnections(server, http2, limits.headersMsMax);
  await listen(server, host, port);
  const address = server.address() as AddressInfo;
  return {
    origin: `http://${address.family === 'IPv6' ? `[${address.address}]` : address.address}:${address.port}`,
    close: async (drainMs) => {
      await Promise.all([close(server, drainMs), sessions.close(drainMs)]);
    },
  };
}

/**
 * Puts a look at the first bytes before the HTTP/1 server's own listener. The HTTP/1 server must be the one that listens:
 * Node watches its slow clients only then.
 */
function sniffConnections(server: Server, http2: Http2Server, firstByteMsMax: number): void {
  const toHttp1 = server.listeners('connection') as ((socket: Socket) => void)[];
  server.removeAllListeners('connection');
  server.on('connection', (socket: Socket) => {
    sniff(socket, firstByteMsMax, {
      http1: () => {
        for (const listener of toHttp1) listener.call(server, socket);
      },
      http2: () => http2.emit('connection', socket),
    });
  });
}

function listen(server: Server, host: string, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, host, () => {
      server.off('error', reject);
      resolve();
    });
  });
}

async function close(server: Server, drainMs: number): Promise<void> {
  const closed = new Promise<void>((resolve) => server.close(() => resolve()));
  // A connection whose answer ends from now on would stay for its keep-alive time.
  const idle = setInterval(() => server.closeIdleConnections(), idleCheckMs);
  const cut = setTimeout(() => server.closeAllConnections(), drainMs);
  await closed;
  clearInterval(idle);
  clearTimeout(cut);
}

const badRequest = JSON.stringify({
  error: {
    message: 'The request is not valid HTTP. Check the request line and the headers.',
    type: 'invalid_request_error',
    param: null,
    code: 'invalid_request_error',
  },
});

/** Answers what the HTTP parser refuses, in the shape of every other error. */
function refuseBadRequest(error: NodeJS.ErrnoException, socket: Socket): void {
  if (error.code === 'ECONNRESET' || !socket.writable) {
    socket.destroy();
    return;
  }
  const status = error.code === 'ERR_HTTP_REQUEST_TIMEOUT' ? '408 Request Timeout' : '400 Bad Request';
  const length = Buffer.byteLength(badRequest);
  socket.end(
    `HTTP/1.1 ${status}\r\ncontent-type: application/json\r\ncontent-length: ${length}\r\nconnection: close\r\n\r\n${badRequest}`,
  );
}
