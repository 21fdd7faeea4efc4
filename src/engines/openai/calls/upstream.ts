import { type IncomingHttpHeaders, IncomingMessage } from 'node:http';
import { Readable } from 'node:stream';
import { buildConnector, errors, Pool } from 'undici';
import type { WebSocket } from 'ws';
import { ParleyError } from '../../../core/values/errors.ts';
import { briefError, type Log } from '../../../core/values/log.ts';
import { type Signal, type TimedSignal, TimeLimit } from '../../../core/values/signal.ts';
import type { EngineReading } from '../../engine-set.ts';
import { ConnectionError, eventError, reportedError, StatusError, statusError, timeUp } from '../errors.ts';
import { UpstreamAnswer } from './answer.ts';
import { Breaker, BrokenCircuitError } from './breaker.ts';
import { CallSlots } from './call-slots.ts';
import { ProgramCall, type ServingProgram } from './program-call.ts';
import { readRetryAfter, sendWithRetries } from './retry.ts';
import { openWebSocket } from './web-socket.ts';

/** Limits on reading the body of an error response, which is only searched for the error's name. */
const errorBytesMax = 4_096;
const errorMsMax = 1_000;

interface Body {
  /** The next bytes; undefined at the end. */
  next(): Promise<Uint8Array | undefined>;
  close(): void;
}

/** The part of an error body that arrives soon. A failure to read it does not matter: the status is the answer. */
async function beginningOf(body: Body): Promise<string> {
  const pieces: Uint8Array[] = [];
  let bytes = 0;
  const timer = setTimeout(() => body.close(), errorMsMax);
  try {
    for (let piece = await body.next(); piece; piece = await body.next()) {
      pieces.push(piece);
      bytes += piece.length;
      if (bytes >= errorBytesMax) break;
    }
  } catch {
    // The status is the answer, so a failure does not matter here either.
  } finally {
    clearTimeout(timer);
    body.close();
  }
  return Buffer.concat(pieces).subarray(0, errorBytesMax).toString();
}

/** Statuses below 500 that only the operator can fix. */
const operatorStatuses = new Set([401, 402, 403, 404]);

interface UpstreamCall {
  readonly method: 'GET' | 'POST';
  /** Path below the base URL, with its slash, such as `/chat/completions`. */
  readonly path: string;
  /** Whether the path is relative to the server instead of the base URL with its version. Default: false. */
  readonly isBesideVersion?: boolean;
  /** Headers beside the configured ones. */
  readonly headers?: Readonly<Record<string, string>>;
  /** The body. A function creates it anew for every try. */
  readonly body?: string | Uint8Array | (() => AsyncIterable<Uint8Array>);
  /** The body, if it is JSON whose fields may be named to the client that sent them. Default: none are. */
  readonly sent?: Uint8Array;
  readonly signal: Signal;
}

/** @param hasAnswered whether the whole answer has arrived */
type End = (hasAnswered: boolean) => void;

/** Times are milliseconds. */
export interface UpstreamSettings {
  /** Base URL with the version, such as `http://127.0.0.1:8000/v1`. */
  readonly baseUrl: string;
  readonly headers: Readonly<Record<string, string>>;
  /** The header of the key. Default: `authorization`, as a bearer token. */
  readonly keyHeader?: 'x-api-key' | undefined;
  readonly connectMs: number;
  readonly firstByteMs: number;
  readonly idleMs: number;
  readonly totalMs: number;
  /** Maximum of calls at once, each on its own connection. */
  readonly callsMax: number;
  readonly callQueueMax: number;
  readonly keepAliveMs: number;
  readonly retriesMax: number;
  readonly retryStatuses: readonly number[];
  readonly breakerFailures: number;
  readonly breakerOpenMs: number;
  /** Whether it is another Parley, whose refusals of a request keep their codes. Default: false. */
  readonly isParley?: boolean;
  /** Whether a call whose connection is lost before the answer begins is made once more. Default: false. */
  readonly repeatLostCalls?: boolean;
}

export interface UpstreamDeps {
  /** The engine's name in the configuration, for the log. */
  readonly name: string;
  readonly apiKey: string | undefined;
  readonly log: Log;
  /** The headers that carry the trace of the running request. Default: none. */
  readonly traceHeaders?: (() => Readonly<Record<string, string>>) | undefined;
  /** Default: the upstream runs by itself. */
  readonly program?: ServingProgram | undefined;
}

/** An HTTP server that speaks the OpenAI API: its connections, limits, retries and circuit breaker. */
export class Upstream {
  readonly #settings: UpstreamSettings;
  readonly #deps: UpstreamDeps;
  readonly #pool: Pool;
  readonly #sockets = new Set<WebSocket>();
  readonly #basePath: string;
  readonly #headers: readonly string[];
  readonly #slots: CallSlots;
  readonly #breaker: Breaker;
  readonly #timeLimit: TimeLimit;

  constructor(settings: UpstreamSettings, deps: UpstreamDeps) {
    const { origin, pathname } = new URL(settings.baseUrl);
    this.#settings = settings;
    this.#deps = deps;
    this.#basePath = pathname.replace(/\/+$/, '');
    this.#headers = ownHeaders(settings, deps.apiKey);
    this.#slots = new CallSlots(settings.callsMax, settings.callQueueMax);
    this.#timeLimit = new TimeLimit(settings.totalMs, () => timeUp(settings.totalMs));
    this.#breaker = new Breaker({
      name: deps.name,
      log: deps.log,
      failuresMax: settings.breakerFailures,
      openMs: settings.breakerOpenMs,
    });
    this.#pool = new Pool(origin, {
      connections: settings.callsMax,
      connect: markedConnector(settings.connectMs, deps.program),
      keepAliveTimeout: settings.keepAliveMs,
      headersTimeout: settings.firstByteMs,
      bodyTimeout: settings.idleMs,
    });
    this.#pool.on('connect', () => this.#breaker.connected());
  }

  reading(): EngineReading {
    const { state } = this.#breaker;
    return { isUp: state === 'closed', breaker: state, ...this.#slots.counts };
  }

  /**
   * Sends a request after waiting for a slot, and retries it while it cannot have run. Resolves with a 2xx answer,
   * which must be read, refused or closed. Follows no redirects.
   * @throws `upstream_error`, with `hasNotRun` if the upstream cannot have begun; `overloaded` if too many calls wait;
   * the signal's reason
   */
  call(call: UpstreamCall): Promise<UpstreamAnswer> {
    return this.#inSlot(call.signal, async (limit, end) => {
      const { retriesMax, repeatLostCalls } = this.#settings;
      const send = () => this.#send(call, limit);
      const answer = await sendWithRetries(send, retriesMax, limit, repeatLostCalls);
      answer.onEnd = end;
      return answer;
    });
  }

  /**
   * Opens a WebSocket as `call` sends a request. It is paused, and has a slot until it closes.
   * @param path below the base URL, perhaps with a query
   * @throws as `call` does
   */
  async openSocket(path: string, signal: Signal): Promise<WebSocket> {
    return this.#inSlot(signal, async (limit, end) => {
      const open = () => this.#openSocket(path, limit);
      const socket = await sendWithRetries(open, this.#settings.retriesMax, limit);
      // Only the opening has a limit in total.
      limit.end();
      this.#sockets.add(socket);
      socket.once('close', () => {
        this.#sockets.delete(socket);
        end(true);
      });
      return socket;
    });
  }

  /** The error of an answer that began with status 200 and then reports an error. The parameters are those of its function. */
  reportedError(body: string, hasBegun?: boolean): ParleyError {
    return reportedError(body, this.#deps.apiKey, hasBegun);
  }

  /** The error of an event on a WebSocket. @param body JSON with the member `error` */
  eventError(body: string): ParleyError {
    const error = eventError(body, this.#deps.apiKey);
    this.report(error);
    return error;
  }

  /** Closes all connections. Calls that still run fail. */
  close(): Promise<void> {
    for (const socket of this.#sockets) socket.terminate();
    return this.#pool.destroy();
  }

  /** Waits for a slot, in which `send` begins. If it succeeds, it must have `end` called. */
  async #inSlot<T>(signal: Signal, send: (limit: TimedSignal, end: End) => Promise<T>): Promise<T> {
    const limit = this.#timeLimit.begin(signal);
    try {
      const turn = this.#slots.take(limit);
      if (turn) await turn;
    } catch (error) {
      limit.end();
      throw error;
    }
    const program = this.#deps.program && new ProgramCall(this.#deps.program);
    const end = (hasAnswered: boolean) => {
      limit.end();
      program?.release(hasAnswered);
      this.#slots.release();
    };
    try {
      return await (program ? program.run(() => send(limit, end), limit) : send(limit, end));
    } catch (error) {
      end(false);
      this.report(error);
      throw error;
    }
  }

  async #send(call: UpstreamCall, signal: Signal): Promise<UpstreamAnswer> {
    signal.throwIfAborted();
    const answer = await this.#breaker.run(() => this.#request(call, signal));
    const { status, headers } = answer;
    if (status >= 200 && status < 300) return answer;
    throw this.#refusal(status, headers, await beginningOf(answer), call.sent);
  }

  async #openSocket(path: string, signal: Signal): Promise<WebSocket> {
    signal.throwIfAborted();
    const { baseUrl, connectMs, firstByteMs } = this.#settings;
    const { program, traceHeaders } = this.#deps;
    const options = {
      url: new URL(baseUrl.replace(/^http/, 'ws').replace(/\/*$/, path)),
      socketPath: program?.socketPath,
      headers: { ...pairs(this.#headers), ...traceHeaders?.() },
      connectMs,
      firstByteMs,
      onConnect: () => this.#breaker.connected(),
    };
    const opened = await this.#breaker.run(() => openWebSocket(options, signal));
    if (!(opened instanceof IncomingMessage)) return opened;
    const pieces = opened[Symbol.asyncIterator]();
    const next = async () => (await pieces.next()).value;
    const body = await beginningOf({ next, close: () => opened.destroy() });
    throw this.#refusal(opened.statusCode ?? 0, opened.headers, body);
  }

  #refusal(status: number, headers: IncomingHttpHeaders, body: string, sent?: Uint8Array): ParleyError {
    const { retryStatuses, isParley } = this.#settings;
    const retryAfterSeconds = readRetryAfter(headers, Date.now());
    const answer = { status, headers, body, ownKey: this.#deps.apiKey, retryAfterSeconds, isParley, sent };
    return statusError(answer, retryStatuses.includes(status));
  }

  #request(
    { method, path, isBesideVersion, headers, body }: UpstreamCall,
    signal: Signal,
  ): Promise<UpstreamAnswer> {
    const head = [...this.#headers];
    for (const more of [this.#deps.traceHeaders?.(), headers]) {
      for (const name in more) head.push(name, more[name] ?? '');
    }
    const answer = new UpstreamAnswer(signal);
    const options = {
      method,
      path: (isBesideVersion ? this.#basePath.replace(/\/v\d+$/, '') : this.#basePath) + path,
      headers: head,
      body: typeof body === 'function' ? Readable.from(body(), { objectMode: false }) : (body ?? null),
    };
    this.#pool.dispatch(options, answer);
    return answer.begun.catch((error: unknown) => {
      if (error instanceof ConnectionError) throw error;
      if (signal.aborted) throw signal.reason;
      throw new ConnectionError(error instanceof errors.HeadersTimeoutError ? 'late' : 'waiting', error);
    });
  }

  /** Logs failures that only the operator can fix. A request that the model refused is for the client to fix. */
  report(error: unknown): void {
    if (!(error instanceof ParleyError) || error.code !== 'upstream_error') return;
    if (error.cause instanceof BrokenCircuitError) return;
    const status = error.httpStatus;
    const refusal = error.cause instanceof StatusError ? error.cause : undefined;
    if (status < 500 && !operatorStatuses.has(status) && !refusal?.clientMessage) return;
    this.#deps.log.warn(
      { engine: this.#deps.name, status, err: briefError(error.cause) },
      refusal?.isAccountEmpty ? 'the account of this engine at its upstream is empty' : 'an upstream failed',
    );
  }
}

/** Marks failures to connect, as undici's own errors do not show whether a request was sent. */
function markedConnector(timeout: number, program: ServingProgram | undefined): buildConnector.connector {
  const connect = buildConnector({ timeout, allowH2: false, socketPath: program?.socketPath ?? null });
  return (options, callback) =>
    connect({ ...options, port: String(program?.port ?? options.port) }, (...[error, socket]) =>
      error ? callback(new ConnectionError('connecting', error), null) : callback(null, socket),
    );
}

/** The headers of every request, names and values in turn. The configured key replaces a configured header of its name. */
function ownHeaders({ headers, keyHeader }: UpstreamSettings, apiKey: string | undefined): string[] {
  const key = keyHeader ?? 'authorization';
  const kept = Object.entries(headers).filter(([name]) => apiKey === undefined || name.toLowerCase() !== key);
  const names = kept.map(([name]) => name.toLowerCase());
  return [
    ...kept.flat(),
    ...(names.includes('accept-encoding') ? [] : ['accept-encoding', 'identity']),
    ...(apiKey === undefined ? [] : [key, keyHeader ? apiKey : `Bearer ${apiKey}`]),
  ];
}

function pairs(flat: readonly string[]): Record<string, string> {
  const names = flat.filter((_, at) => at % 2 === 0);
  return Object.fromEntries(names.map((name, at) => [name, flat[2 * at + 1] ?? '']));
}
