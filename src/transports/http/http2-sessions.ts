import type { Http2Server, ServerHttp2Session } from 'node:http2';
import type { Socket } from 'node:net';
import { Http2Connection } from './http2-connection.ts';
import type { ServerLimits } from './limits.ts';

const checkMs = 1_000;

/** The connections of an HTTP/2 server, which keeps no list of them itself and watches none. */
export class Http2Sessions {
  readonly #server: Http2Server;
  readonly #limits: ServerLimits;
  readonly #connections = new Set<Http2Connection>();
  readonly #checks: NodeJS.Timeout;

  constructor(server: Http2Server, limits: ServerLimits) {
    this.#server = server;
    this.#limits = limits;
    this.#checks = setInterval(() => this.#check(), checkMs).unref();
  }

  /** Hands a socket that speaks HTTP/2 to the server. */
  adopt(socket: Socket): void {
    const watch = (session: ServerHttp2Session) => {
      const connection = new Http2Connection(session, socket, this.#limits);
      this.#connections.add(connection);
      // A session says that it is closed while its socket may still be open.
      socket.once('close', () => this.#connections.delete(connection));
    };
    // The HTTP/1 server that accepted it lets clients half close. HTTP/2 has no use for that, and would hear only of a whole close.
    socket.allowHalfOpen = false;
    this.#server.once('session', watch);
    this.#server.emit('connection', socket);
    this.#server.off('session', watch);
  }

  /** Tells every client to send no more requests; each connection ends with the last of those it has. */
  close(): void {
    for (const connection of this.#connections) connection.close();
  }

  /** To be called when no connection is left. */
  stop(): void {
    clearInterval(this.#checks);
  }

  #check(): void {
    const nowMs = Date.now();
    for (const connection of this.#connections) connection.check(nowMs);
  }
}
