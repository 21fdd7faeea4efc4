import {
  constants,
  createServer,
  type Http2Server,
  type Http2ServerRequest,
  type Http2ServerResponse,
  type IncomingHttpHeaders,
  type ServerHttp2Session,
  type ServerHttp2Stream,
} from 'node:http2';
import type { Socket } from 'node:net';
import { refuseRequest } from './bad-request.ts';
import type { Connections } from './connections.ts';
import { Http2Stream } from './http2-stream.ts';
import { lingerMsMax, type ServerLimits } from './limits.ts';

/** Requests in about a second above which resets count as abuse. Clients may cancel fewer at will. */
const countedRequestsMin = 200;
/** PING and SETTINGS frames in about a second. Clients that measure bandwidth send one each round trip. */
const controlFramesMax = 1_000;

/** Watches one HTTP/2 connection, as Node does not, and closes it if it is idle, dead, or abused. */
class Http2Connection {
  readonly #session: ServerHttp2Session;
  readonly #socket: Socket;
  readonly #limits: ServerLimits;
  readonly #streams = new Map<ServerHttp2Stream, Http2Stream>();
  readonly #openedAtMs = Date.now();
  /** Whether the client has acknowledged the server's SETTINGS, which apply to it only from then on. */
  #hasAgreed = false;
  #idleSinceMs = this.#openedAtMs;
  #pingedAtMs = this.#openedAtMs;
  #isPinged = false;
  #closedAtMs: number | undefined;
  #requests = 0;
  #resets = 0;
  #controlFrames = 0;
  #isRefused = false;

  constructor(session: ServerHttp2Session, socket: Socket, limits: ServerLimits) {
    this.#session = session;
    this.#socket = socket;
    this.#limits = limits;
    session.on('stream', (stream) => this.#open(stream));
    session.on('ping', () => this.#countControlFrame());
    session.on('remoteSettings', () => this.#countControlFrame());
    session.once('localSettings', () => {
      this.#hasAgreed = true;
    });
  }

  /** Asks the client to send no more requests. Running requests finish. */
  close(): void {
    if (!this.#session.destroyed) this.#session.close();
  }

  /** Call it about every second. */
  check(nowMs: number): void {
    this.#requests = 0;
    this.#resets = 0;
    this.#controlFrames = 0;
    if (this.#isOver()) {
      this.#closedAtMs ??= nowMs;
      if (nowMs - this.#closedAtMs > lingerMsMax(this.#limits)) this.#socket.destroy();
      return;
    }
    for (const stream of this.#streams.values()) stream.check(nowMs);
    if (!this.#hasAgreed && nowMs - this.#openedAtMs > this.#limits.headersMsMax) this.#socket.destroy();
    else if (this.#streams.size === 0 && nowMs - this.#idleSinceMs > this.#limits.idleMs) this.close();
    else this.#checkPing(nowMs);
  }

  #isOver(): boolean {
    return this.#session.destroyed || (this.#session.closed && this.#streams.size === 0);
  }

  #open(stream: ServerHttp2Stream): void {
    this.#requests += 1;
    this.#streams.set(stream, new Http2Stream(stream, this.#socket, this.#limits, Date.now()));
    stream.once('close', () => {
      this.#streams.delete(stream);
      this.#idleSinceMs = Date.now();
      // Counts resets by the server as well, as a client can provoke them.
      if (stream.aborted || stream.rstCode !== constants.NGHTTP2_NO_ERROR) this.#countReset();
    });
  }

  #countReset(): void {
    this.#resets += 1;
    if (this.#requests > countedRequestsMin && this.#resets > this.#requests / 2) this.#refuse();
  }

  #countControlFrame(): void {
    this.#controlFrames += 1;
    if (this.#controlFrames > controlFramesMax) this.#refuse();
  }

  /** A client that is dead, or never ends a block of headers, does not answer a PING. */
  #checkPing(nowMs: number): void {
    const { pingEveryMs, pingTimeoutMs } = this.#limits;
    const sinceMs = nowMs - this.#pingedAtMs;
    if (this.#isPinged && sinceMs > pingTimeoutMs) this.#socket.destroy();
    if (this.#isPinged || this.#session.closed || sinceMs < pingEveryMs) return;
    this.#isPinged = true;
    this.#pingedAtMs = nowMs;
    this.#session.ping(() => {
      this.#isPinged = false;
    });
  }

  /** Ends the connection with ENHANCE_YOUR_CALM. */
  #refuse(): void {
    if (this.#isRefused) return;
    this.#isRefused = true;
    const error = new Error('the client keeps the connection busy with resets or control frames');
    // Node is reading and would not send the GOAWAY now.
    setImmediate(() => this.#session.destroy(error, constants.NGHTTP2_ENHANCE_YOUR_CALM));
  }
}

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

type Http2Handler = (request: Http2ServerRequest, response: Http2ServerResponse) => void;
type StreamListener = (...args: unknown[]) => void;

interface Http2Handlers {
  readonly handle: Http2Handler;
  readonly grpc: (stream: ServerHttp2Stream, headers: IncomingHttpHeaders) => void;
}

/** `:method`, `:scheme` and `:path`. They do not count as headers, but `:authority` does, in place of `Host`. */
const pseudoHeaders = 3;
/** Node counts the memory of a session in these. */
const megabyte = 1_000_000;

/**
 * Requests that a client may cancel at once, and then in each second. Above it nghttp2 ends the connection, within the
 * packet.
 */
const [streamResetBurst, streamResetRate] = [250, 100];

/** Creates a server that does not listen, but is passed sockets that speak HTTP/2. */
export function createHttp2Server(limits: ServerLimits, { handle, grpc }: Http2Handlers): Http2Server {
  const server = createServer({
    settings: {
      maxConcurrentStreams: limits.streamsPerConnectionMax,
      maxHeaderListSize: limits.headerBytesMax,
      enablePush: false,
    },
    maxHeaderListPairs: limits.headerCountMax + pseudoHeaders,
    maxSessionMemory: limits.sessionBytesMax / megabyte,
    streamResetBurst,
    streamResetRate,
  });
  // With the first listener for requests, Node adds one that turns a stream into a request and a response.
  server.on('request', handle);
  server.on('checkContinue', handle);
  server.on('connect', handle);
  server.on('checkExpectation', (request, response) => refuseRequest(request, response, 417));
  const toRequest = server.listeners('stream') as StreamListener[];
  server.removeAllListeners('stream');
  server.on('stream', (...args) => {
    const [stream, headers] = args;
    // The handlers learn of the end by `close`.
    stream.on('error', () => undefined);
    // The client has already reset the stream. Both handlers would throw an error that nothing catches.
    if (stream.destroyed || stream.closed) return;
    if (isGrpc(headers)) grpc(stream, headers);
    else for (const listener of toRequest) listener.apply(server, args);
  });
  // Streams close when their connection breaks, so the error itself needs no handling.
  server.on('sessionError', () => undefined);
  return server;
}

/** gRPC-Web, and gRPC with another method or content type than this, go to the handler of Connect, as over HTTP/1. */
function isGrpc(headers: IncomingHttpHeaders): boolean {
  const type = headers['content-type'] ?? '';
  return headers[':method'] === 'POST' && /^application\/grpc(\+proto)?\s*($|;)/i.test(type);
}
