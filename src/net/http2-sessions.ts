import type { Http2Server, ServerHttp2Session } from 'node:http2';

/** The connections of an HTTP/2 server, which keeps no list of them itself. */
export class Http2Sessions {
  readonly #sessions = new Set<ServerHttp2Session>();

  constructor(server: Http2Server) {
    server.on('session', (session) => {
      this.#sessions.add(session);
      session.once('close', () => this.#sessions.delete(session));
    });
    // A connection that breaks is its own business.
    server.on('sessionError', () => undefined);
  }

  /** Tells every client to open no more streams, and resolves when all have ended; cuts them after `drainMs`. */
  async close(drainMs: number): Promise<void> {
    const closing = [...this.#sessions].map(
      (session) => new Promise<void>((resolve) => (session.closed ? resolve() : session.close(resolve))),
    );
    const cut = setTimeout(() => {
      for (const session of this.#sessions) session.destroy();
    }, drainMs);
    await Promise.all(closing);
    clearTimeout(cut);
  }
}
