/** A server that replaces an upstream and does on command what a real one does only by accident. */
import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http';
import { createServer as createTlsServer, type ServerOptions } from 'node:https';
import type { AddressInfo, Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';

/** The answer to one request. The builders in `upstream-answers.ts` make the usual ones. */
export type Answer = (exchange: UpstreamExchange) => void | Promise<void>;

/** A received request. */
export class ReceivedRequest {
  readonly method: string;
  /** Path with the query, without `/v1`. */
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  /** The number of the connection, from 1: two requests with the same number shared one. */
  readonly connection: number;
  readonly #aborted = Promise.withResolvers<void>();
  #isAborted = false;
  body: Buffer = Buffer.alloc(0);

  constructor({ method = '', url = '', headers }: IncomingMessage, connection: number) {
    this.method = method;
    this.path = url.replace(/^\/v1/, '');
    this.headers = headers;
    this.connection = connection;
  }

  // biome-ignore lint/suspicious/noExplicitAny: tests look into bodies of every shape.
  get json(): any {
    return JSON.parse(this.body.toString());
  }

  /** Resolves when the caller leaves before the answer's end. */
  get aborted(): Promise<void> {
    return this.#aborted.promise;
  }

  get isAborted(): boolean {
    return this.#isAborted;
  }

  noteAbort(): void {
    this.#isAborted = true;
    this.#aborted.resolve();
  }
}

/** A request and its answer in progress. All waiting ends with an exception when the caller leaves. */
class UpstreamExchange {
  readonly request: ReceivedRequest;
  readonly #response: ServerResponse;
  readonly #left = new AbortController();

  constructor(request: ReceivedRequest, response: ServerResponse) {
    this.request = request;
    this.#response = response;
    response.on('close', () => {
      if (response.writableFinished) return;
      request.noteAbort();
      this.#left.abort();
    });
  }

  get socket(): Socket {
    const { socket } = this.#response;
    if (socket === null) throw new Error('the connection is gone');
    return socket;
  }

  /** Sends status and headers at once. */
  head(status: number, headers: Record<string, string> = {}): void {
    this.#response.writeHead(status, headers);
    this.#response.flushHeaders();
  }

  /** Sends a separate piece of the body; resolves when there is room for more. */
  async write(bytes: string | Uint8Array): Promise<void> {
    const hasRoom = this.#response.write(bytes);
    if (hasRoom) return;
    await new Promise<void>((resolve, reject) => {
      this.#response.once('drain', resolve);
      this.#left.signal.addEventListener('abort', () => reject(new Error('the caller left')), { once: true });
    });
  }

  end(bytes?: string | Uint8Array): void {
    this.#response.end(bytes);
  }

  async pause(delayMs: number): Promise<void> {
    await sleep(delayMs, undefined, { signal: this.#left.signal });
  }

  /** Waits until the caller leaves. */
  async forever(): Promise<never> {
    await sleep(2 ** 31 - 1, undefined, { signal: this.#left.signal });
    throw new Error('unreachable');
  }

  /** Sends a TCP reset, after the written data has had time to leave. */
  async reset(): Promise<void> {
    const { socket } = this;
    await sleep(5);
    socket.resetAndDestroy();
  }
}

export interface ScriptedUpstream {
  /** With `/v1`. */
  readonly baseUrl: string;
  /** Complete requests in the order in which they came. */
  readonly requests: readonly ReceivedRequest[];
  /** How many connections were opened. */
  readonly connections: number;
  /**
   * Sets the answers for a path, such as `/chat/completions`: one for each request, and the last one for all further
   * requests. Replaces earlier answers for the path. Other paths are 404.
   */
  answer(path: string, ...answers: readonly [Answer, ...Answer[]]): void;
  /** Resolves with the next complete request. */
  nextRequest(): Promise<ReceivedRequest>;
  /** Closes the port and all connections. `listen` opens the same port again. */
  stop(): Promise<void>;
  listen(): Promise<void>;
}

/** @param tls key and certificate for HTTPS */
export async function startScriptedUpstream(tls?: ServerOptions): Promise<ScriptedUpstream> {
  const scripts = new Map<string, Answer[]>();
  const requests: ReceivedRequest[] = [];
  const awaiting: ((request: ReceivedRequest) => void)[] = [];
  const numbers = new WeakMap<Socket, number>();
  let connections = 0;
  let port = 0;

  const handle = async (incoming: IncomingMessage, response: ServerResponse) => {
    const request = new ReceivedRequest(incoming, numbers.get(incoming.socket) ?? 0);
    const exchange = new UpstreamExchange(request, response);
    try {
      request.body = Buffer.concat(await incoming.toArray());
      requests.push(request);
      awaiting.shift()?.(request);
      await nextAnswer(scripts, request.path)(exchange);
    } catch (error) {
      // A caller that leaves ends the answer at once. The connection may be closed before its `close` event.
      const isConnected = response.socket?.destroyed === false;
      if (isConnected && !request.isAborted && !incoming.errored) throw error;
    }
  };
  const server = tls ? createTlsServer(tls, handle) : createServer(handle);
  server.keepAliveTimeout = 60_000;
  server.on(tls ? 'secureConnection' : 'connection', (socket: Socket) => numbers.set(socket, ++connections));

  const listen = async () => {
    await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve));
    port = (server.address() as AddressInfo).port;
  };
  await listen();
  return {
    baseUrl: `${tls ? 'https' : 'http'}://127.0.0.1:${port}/v1`,
    requests,
    get connections() {
      return connections;
    },
    answer: (path, ...answers) => scripts.set(path, [...answers]),
    nextRequest: () => new Promise((resolve) => awaiting.push(resolve)),
    stop: async () => {
      const closed = new Promise((resolve) => server.close(resolve));
      server.closeAllConnections();
      await closed;
    },
    listen,
  };
}

function nextAnswer(scripts: ReadonlyMap<string, Answer[]>, path: string): Answer {
  const [name = path] = path.split('?');
  const answers = scripts.get(name) ?? [];
  const [next] = answers;
  if (answers.length > 1) answers.shift();
  return next ?? notScripted;
}

function notScripted(exchange: UpstreamExchange): void {
  exchange.head(404, { 'content-type': 'application/json' });
  exchange.end(JSON.stringify({ error: { message: `nothing is scripted for ${exchange.request.path}` } }));
}
