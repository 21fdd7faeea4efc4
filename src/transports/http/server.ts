import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type {
  Http2ServerRequest,
  Http2ServerResponse,
  IncomingHttpHeaders,
  ServerHttp2Stream,
} from 'node:http2';
import type { AddressInfo, Socket } from 'node:net';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { TLSSocket } from 'node:tls';
import type { Client } from '../../core/access/gate.ts';
import { isClosing } from './bad-request.ts';
import { Connections } from './connections.ts';
import { createHttp1Server, type UpgradeHandler } from './http1-server.ts';
import { createHttp2Server, Http2Sessions } from './http2-sessions.ts';
import type { ServerLimits } from './limits.ts';
import type { TlsPair } from './tls-pair.ts';
import { TrustedProxies } from './trusted-proxies.ts';

export interface ServerOptions {
  readonly host: string;
  /** 0 takes any free port. */
  readonly port: number;
  /** The file descriptor of a listening TCP socket, used in place of host and port. Default: none. */
  readonly fd?: number | undefined;
  readonly limits: ServerLimits;
  /** Default: no TLS. */
  readonly tls?: TlsPair | undefined;
  /** Handles all requests but gRPC, over HTTP/1.1 and HTTP/2. */
  readonly handle: PortHandler;
  /** Handles gRPC. */
  readonly grpc: StreamHandler;
  /** Takes over connections that become WebSockets, at one path. Default: none. */
  readonly upgrade?: { readonly paths: RegExp; readonly take: UpgradeHandler } | undefined;
}

export type PortHandler = (
  request: IncomingMessage | Http2ServerRequest,
  response: ServerResponse | Http2ServerResponse,
  client: Client,
) => void;

export type StreamHandler = (stream: ServerHttp2Stream, headers: IncomingHttpHeaders, client: Client) => void;

export interface RunningServer {
  /** URL with the actual port, such as `http://127.0.0.1:8080`. */
  readonly origin: string;
  /** From now on every answer over HTTP/1 closes its connection, so that no client sends a request on a closing one. */
  leave(): void;
  /** Stops listening, gives running requests at most `drainMs`, then cuts them. */
  close(drainMs: number): Promise<void>;
}

const idleCheckMs = 20;
/** How long a stopping server waits for the first bytes on a connection that it has accepted. */
const firstByteMsMax = 500;
/** Connections that the system keeps until the server accepts them, if its own limit (`somaxconn`) is not lower. */
const waitingConnectionsMax = 4_096;

/** Listens. Rejects if the address cannot be bound. */
export async function startServer(options: ServerOptions): Promise<RunningServer> {
  const { limits, tls } = options;
  let isLeaving = false;
  const handle: PortHandler = (request, response, client) => {
    if (isLeaving && 'shouldKeepAlive' in response) response.shouldKeepAlive = false;
    options.handle(request, response, client);
  };
  const connections = new Connections(limits, new TrustedProxies(limits), tls !== undefined);
  const { server, sessions } = createServers({ ...options, handle }, connections);
  const undecided = routeSockets(server, tls ? 'secureConnection' : 'connection', sessions, limits);
  // Node's own method resets a connection whose next request has arrived but is not read yet.
  server.closeIdleConnections = () => connections.closeIdle();
  const accepted = acceptedSockets(server);
  // Before the listeners of TLS and of all protocols.
  admitSockets(server, connections);
  await listen(server, options);
  const leave = () => {
    isLeaving = true;
  };
  return {
    origin: originOf(server.address() as AddressInfo, tls ? 'https' : 'http'),
    leave,
    close: async (drainMs) => {
      leave();
      // Accepts the connections in the system's queue, which would be reset with the listening socket.
      await nextTurn();
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      sessions.close();
      const mute = setTimeout(() => setImmediate(() => destroyAll(undecided)), firstByteMsMax);
      // Without this, a connection whose answer ends from now on would stay open for its keep-alive time.
      const idle = setInterval(() => server.closeIdleConnections(), idleCheckMs);
      const cut = setTimeout(() => destroyAll(accepted), drainMs);
      await closed;
      clearInterval(idle);
      clearTimeout(mute);
      clearTimeout(cut);
      sessions.stop();
    },
  };
}

/** The HTTP/1 server accepts all connections, and passes on those of HTTP/2. */
function createServers({ limits, tls, handle, grpc, upgrade }: ServerOptions, connections: Connections) {
  const server = createHttp1Server(
    limits,
    (request, response) => handle(request, response, connections.clientOf(request.socket, request.headers)),
    upgrade && {
      paths: upgrade.paths,
      take: (request, socket, head) => {
        const client = connections.clientOf(socket, request.headers);
        // From now on the socket is closed, rather than answered, to make room.
        connections.carry(socket, {});
        upgrade.take(request, socket, head, client);
      },
    },
    tls,
  );
  const http2 = createHttp2Server(limits, {
    handle: (request, response) =>
      handle(request, response, connections.clientOf(request.stream.session, request.headers)),
    grpc: (stream, headers) => grpc(stream, headers, connections.clientOf(stream.session, headers)),
  });
  return { server, sessions: new Http2Sessions(http2, limits, connections) };
}

/** Hides sockets for which there is no room from all listeners. */
function admitSockets(server: Server, connections: Connections): void {
  const listeners = server.listeners('connection') as ((socket: Socket) => void)[];
  server.removeAllListeners('connection');
  server.on('connection', (socket: Socket) => {
    if (!connections.admit(socket)) return;
    for (const listener of listeners) listener.call(server, socket);
  });
  server.prependListener('secureConnection', (socket: TLSSocket) => connections.carry(socket, socket));
}

function acceptedSockets(server: Server): ReadonlySet<Socket> {
  const sockets = new Set<Socket>();
  server.on('connection', (socket: Socket) => addWhileOpen(sockets, socket));
  return sockets;
}

function addWhileOpen(sockets: Set<Socket>, socket: Socket): void {
  sockets.add(socket);
  socket.once('close', () => sockets.delete(socket));
}

function destroyAll(sockets: ReadonlySet<Socket>): void {
  for (const socket of sockets) socket.destroy();
}

/**
 * Detects the protocol, by ALPN or by the first bytes, before the HTTP/1 server's own listener runs.
 * @returns the sockets whose protocol is not known yet
 */
function routeSockets(
  server: Server,
  event: 'connection' | 'secureConnection',
  sessions: Http2Sessions,
  { headersMsMax }: ServerLimits,
): ReadonlySet<Socket> {
  const toHttp1 = server.listeners(event) as ((socket: Socket) => void)[];
  server.removeAllListeners(event);
  const undecided = new Set<Socket>();
  server.on(event, (socket: Socket) => {
    if (socket instanceof TLSSocket && socket.alpnProtocol === 'h2') {
      sessions.adopt(socket);
      return;
    }
    addWhileOpen(undecided, socket);
    detectProtocol(socket, headersMsMax, (isHttp2) => {
      undecided.delete(socket);
      if (isClosing(socket)) socket.resume();
      else if (isHttp2) sessions.adopt(socket);
      else for (const listener of toHttp1) listener.call(server, socket);
    });
  });
  return undecided;
}

function listen(server: Server, { host, port, fd }: ServerOptions): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    const listening = () => {
      server.off('error', reject);
      resolve();
    };
    if (fd === undefined) server.listen(port, host, waitingConnectionsMax, listening);
    else server.listen({ fd }, waitingConnectionsMax, listening);
  });
}

function originOf({ family, address, port }: AddressInfo, scheme: 'http' | 'https'): string {
  return `${scheme}://${family === 'IPv6' ? `[${address}]` : address}:${port}`;
}

/** The first bytes of an HTTP/2 client with prior knowledge (RFC 9113, 3.4). */
const preface = Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n');

/**
 * Distinguishes HTTP/2 from HTTP/1 by the first bytes of a connection, and puts them back. Closes a connection that
 * sends too few within `firstByteMsMax`, as no server watches it yet.
 */
function detectProtocol(socket: Socket, firstByteMsMax: number, decide: (isHttp2: boolean) => void): void {
  let seen = Buffer.alloc(0);
  const leave = () => socket.destroy();
  const timer = setTimeout(leave, firstByteMsMax);
  const stop = () => {
    clearTimeout(timer);
    socket.off('readable', read).off('end', leave).off('close', stop).off('error', stop);
  };
  const read = () => {
    const chunk: Buffer | null = socket.read();
    if (chunk === null) return;
    seen = Buffer.concat([seen, chunk]);
    const compared = Math.min(seen.length, preface.length);
    const isHttp2 = seen.subarray(0, compared).equals(preface.subarray(0, compared));
    if (isHttp2 && compared < preface.length) return;
    stop();
    socket.unshift(seen);
    decide(isHttp2);
  };
  socket.on('readable', read).on('end', leave).on('close', stop).on('error', stop);
}
