import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Http2ServerRequest, Http2ServerResponse } from 'node:http2';
import type { AddressInfo, Socket } from 'node:net';
import { TLSSocket } from 'node:tls';
import { detectProtocol } from './detect-protocol.ts';
import { createHttp1Server } from './http1-server.ts';
import { createHttp2Server, type StreamHandler } from './http2-server.ts';
import { Http2Sessions } from './http2-sessions.ts';
import type { ServerLimits } from './limits.ts';
import type { TlsPair } from './tls-pair.ts';

export interface ServerOptions {
  readonly host: string;
  /** 0 takes any free port. */
  readonly port: number;
  readonly limits: ServerLimits;
  /** Default: in the clear. */
  readonly tls?: TlsPair | undefined;
  /** Answers what is not gRPC, over HTTP/1.1 and HTTP/2 alike. */
  readonly handle: PortHandler;
  /** Answers gRPC. */
  readonly grpc: StreamHandler;
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

const idleCheckMs = 20;

/** Listens. Rejects where the address cannot be had. */
export async function startServer(options: ServerOptions): Promise<RunningServer> {
  const { host, port, limits, tls } = options;
  const server = createHttp1Server(limits, options.handle, tls);
  const sessions = new Http2Sessions(createHttp2Server(limits, options), limits);
  // Those that speak HTTP/2 count, too: the server has accepted them all.
  server.maxConnections = limits.connectionsMax;
  const undecided = routeSockets(server, tls ? 'secureConnection' : 'connection', sessions, limits);
  const accepted = acceptedSockets(server);
  await listen(server, host, port);
  return {
    origin: originOf(server.address() as AddressInfo, tls ? 'https' : 'http'),
    close: async (drainMs) => {
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      sessions.close();
      destroyAll(undecided);
      // A connection whose answer ends from now on would stay for its keep-alive time.
      const idle = setInterval(() => server.closeIdleConnections(), idleCheckMs);
      const cut = setTimeout(() => destroyAll(accepted), drainMs);
      await closed;
      clearInterval(idle);
      clearTimeout(cut);
      sessions.stop();
    },
  };
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
 * Puts the choice of the protocol before the HTTP/1 server's own listener: by what TLS has agreed on, or by the first bytes.
 * @returns the sockets that have not told yet what they speak
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
      if (isHttp2) sessions.adopt(socket);
      else for (const listener of toHttp1) listener.call(server, socket);
    });
  });
  return undecided;
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

function originOf({ family, address, port }: AddressInfo, scheme: 'http' | 'https'): string {
  return `${scheme}://${family === 'IPv6' ? `[${address}]` : address}:${port}`;
}
