import type { Http2Server, ServerHttp2Session } from 'node:http2';
import type { Socket } from 'node:net';
import type { Connections } from './connections.ts';
import { Http2Connection } from './http2-connection.ts';
import type { ServerLimits } from './limits.ts';

const checkMs = 1_000;

/** Lists and watches the connections of an HTTP/2 server, which Node does not. */
export class Http2Sessions {
  readonly #server: Http2Server;
  readonly #limits: ServerLimits;
  readonly #all: Connections;
  readonly #connections = new Set<Http2Connection>();
  readonly #checks: NodeJS.Timeout;
  #isClosing = false;

  /** @param all the connections of the port, of every protocol */
  constructor(server: Http2Server, limits: ServerLimits, all: Connections) {
    this.#server = server;
    this.#limits = limits;
    this.#all = all;
    this.#checks = setInterval(() => this.#check(), checkMs).unref();
  }

  /** Passes a socket that speaks HTTP/2 to the server. */
  adopt(socket: Socket): void {
    const watch = (session: ServerHttp2Session) => {
      this.#all.carry(socket, session);
      const connection = new Http2Connection(session, socket, this.#limits);
      this.#connections.add(connection);
      // A closed session may still have an open socket.
      socket.once('close', () => this.#connections.delete(connection));
      // The socket was counted before.
      if (this.#isClosing) connection.close();
    };
    // The HTTP/1 server allows half-closed sockets, on which HTTP/2 would not notice that the client has left.
    socket.allowHalfOpen = false;
    this.#server.once('session', watch);
    this.#server.emit('connection', socket);
    this.#server.off('session', watch);
  }

  /** Asks every client to send no more requests. Each connection ends with its last running request. */
  close(): void {
    this.#isClosing = true;
    for (const connection of this.#connections) connection.close();
  }

  /** Call it when no connection is left. */
  stop(): void {
    clearInterval(this.#checks);
  }

  #check(): void {
    const nowMs = Date.now();
    for (const connection of this.#connections) connection.check(nowMs);
  }
}
