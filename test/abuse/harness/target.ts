/** The server as the attacker reaches it: from another address, over raw sockets or plain HTTP. */
import { request as httpRequest, type IncomingHttpHeaders } from 'node:http';
import { type ClientHttp2Session, connect as connectHttp2, constants } from 'node:http2';
import { connect } from 'node:net';
import { RawClient } from '../../support/raw-http.ts';
import { RawHttp2, type RawHttp2Options } from '../../support/raw-http2.ts';
import type { AbusedServer } from './server.ts';

/** Linux routes all of 127.0.0.0/8 to this machine. The second client has 127.0.0.1. */
const attackerAddress = '127.0.0.2';
const answerMsMax = 120_000;
/** How long after its last byte a call may take to report its status. */
const trailersMsMax = 2_000;

export interface Sent {
  readonly method?: string;
  /** Path with the version: `/api/v1/models`. */
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Uint8Array;
  /** Default: none. */
  readonly key?: string;
}

export interface Answered {
  /** The status of HTTP, or of gRPC if the answer has one. */
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
}

export class Target {
  readonly server: AbusedServer;
  readonly #opened: { close(): void }[] = [];

  constructor(server: AbusedServer) {
    this.server = server;
  }

  async http1(): Promise<RawClient> {
    return this.#keep(await RawClient.open(this.server.origin, attackerAddress));
  }

  async http2(options: RawHttp2Options = {}): Promise<RawHttp2> {
    return this.#keep(await RawHttp2.open(this.server.origin, { localAddress: attackerAddress, ...options }));
  }

  session(): ClientHttp2Session {
    const { origin } = this.server;
    const { port, hostname } = new URL(origin);
    const options = { port: Number(port), host: hostname, localAddress: attackerAddress };
    const session = connectHttp2(origin, { createConnection: () => connect(options) });
    session.on('error', () => undefined);
    this.#keep({ close: () => session.destroy() });
    return session;
  }

  /** Sends a request over HTTP/1, on its own connection. */
  send({ method = 'POST', path, headers, body = '', key }: Sent): Promise<Answered> {
    return new Promise((resolve, reject) => {
      const options = {
        agent: false,
        localAddress: attackerAddress,
        method,
        headers: {
          connection: 'keep-alive',
          'content-length': Buffer.byteLength(body),
          ...bearer(key),
          ...headers,
        },
        signal: AbortSignal.timeout(answerMsMax),
      };
      let isAnswered = false;
      const asked = httpRequest(this.server.origin + path, options, async (response) => {
        isAnswered = true;
        try {
          const answer = Buffer.concat(await response.toArray());
          resolve({ status: response.statusCode ?? 0, headers: response.headers, body: answer });
        } catch (error) {
          reject(error);
        }
      });
      // The server may answer and close before it has read the whole body.
      asked.on('error', (error) => isAnswered || reject(error));
      asked.on('socket', (socket) => this.#keep({ close: () => socket.destroy() }));
      asked.end(body);
    });
  }

  /** Calls an RPC over gRPC, on its own connection. */
  async grpc({ path, headers, body, key }: Sent): Promise<Answered> {
    const session = this.session();
    try {
      const stream = session.request(
        {
          ':method': 'POST',
          ':path': path,
          'content-type': 'application/grpc',
          te: 'trailers',
          ...bearer(key),
          ...headers,
        },
        { signal: AbortSignal.timeout(answerMsMax) },
      );
      const all: IncomingHttpHeaders = {};
      stream.on('response', (head) => Object.assign(all, head));
      stream.on('trailers', (trailers) => Object.assign(all, trailers));
      const answer: Buffer[] = [];
      stream.on('data', (bytes: Buffer) => answer.push(bytes));
      stream.end(body);
      await new Promise<void>((resolve, reject) => {
        stream.once('close', resolve);
        // The server may answer before it has read the request.
        stream.once('trailers', () => resolve());
        stream.once('end', () => setTimeout(resolve, all['grpc-status'] === undefined ? trailersMsMax : 0));
        stream.once('error', (error) => (statusOf(stream.rstCode) === undefined ? reject(error) : resolve()));
        session.once('error', reject);
      });
      const status = Number(all['grpc-status'] ?? (stream.closed ? statusOf(stream.rstCode) : undefined));
      return { status, headers: all, body: Buffer.concat(answer) };
    } finally {
      session.destroy();
    }
  }

  /** Closes everything that the attack has opened. */
  release(): void {
    for (const opened of this.#opened.splice(0)) opened.close();
  }

  #keep<T extends { close(): void }>(opened: T): T {
    this.#opened.push(opened);
    return opened;
  }
}

/** The status that gRPC gives to a stream that was reset (gRPC over HTTP/2, "HTTP2 Transport Mapping"). */
function statusOf(resetCode: number | undefined): number | undefined {
  if (resetCode === constants.NGHTTP2_NO_ERROR) return 0;
  return resetCode === constants.NGHTTP2_ENHANCE_YOUR_CALM ? 8 : undefined;
}

function bearer(key: string | undefined): Record<string, string> {
  return key === undefined ? {} : { authorization: `Bearer ${key}` };
}
