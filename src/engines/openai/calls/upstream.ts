import { Readable } from 'node:stream';
import { BrokenCircuitError } from 'cockatiel';
import { buildConnector, errors, Pool } from 'undici';
import { ParleyError } from '../../../core/values/errors.ts';
import { briefError } from '../../../core/values/failure-log.ts';
import type { Log } from '../../../core/values/log.ts';
import { type Signal, TimeLimit } from '../../../core/values/signal.ts';
import type { EngineReading } from '../../engine-set.ts';
import { ConnectionError, reportedError, StatusError, statusError, timeUp } from '../errors.ts';
import { UpstreamAnswer } from './answer.ts';
import { Breaker } from './breaker.ts';
import { CallSlots } from './call-slots.ts';
import { UpstreamResponse } from './response.ts';
import { sendWithRetries } from './retry.ts';

/** Limits on reading the body of an error response, which is only searched for the error's name. */
const errorBytesMax = 4_096;
const errorMsMax = 1_000;
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
  /** Aborts the call at every stage. */
  readonly signal: Signal;
}

/** Times are milliseconds. */
export interface UpstreamSettings {
  /** Base URL with the version, such as `http://127.0.0.1:8000/v1`. */
  readonly baseUrl: string;
  readonly headers: Readonly<Record<string, string>>;
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
}

export interface UpstreamDeps {
  /** The engine's name in the configuration, for the log. */
  readonly name: string;
  readonly apiKey: string | undefined;
  readonly log: Log;
  /** The headers that carry the trace of the running request. Default: none. */
  readonly traceHeaders?: (() => Readonly<Record<string, string>>) | undefined;
}

/** An HTTP server that speaks the OpenAI API: its connections, limits, retries and circuit breaker. */
export class Upstream {
  readonly #settings: UpstreamSettings;
  readonly #deps: UpstreamDeps;
  readonly #pool: Pool;
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
    this.#headers = ownHeaders(settings.headers, deps.apiKey);
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
      connect: markedConnector(settings.connectMs),
      keepAliveTimeout: settings.keepAliveMs,
      headersTimeout: settings.firstByteMs,
      bodyTimeout: settings.idleMs,
    });
    this.#pool.on('connect', () => this.#breaker.connected());
  }

  /** Up while the breaker is closed. */
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
  async call(call: UpstreamCall): Promise<UpstreamAnswer> {
    const limit = this.#timeLimit.begin(call.signal);
    try {
      await this.#slots.take(limit);
    } catch (error) {
      limit.end();
      throw error;
    }
    const end = () => {
      limit.end();
      this.#slots.release();
    };
    try {
      const send = () => this.#send(call, limit);
      return new UpstreamAnswer(await sendWithRetries(send, this.#settings.retriesMax, limit), limit, end);
    } catch (error) {
      end();
      this.#report(error);
      throw error;
    }
  }

  /** The error of an answer that began with status 200 and then reports an error. @param body the JSON of the error */
  reportedError(body: string): ParleyError {
    return reportedError(body, this.#deps.apiKey);
  }

  /** Closes all connections. Calls that still run fail. */
  close(): Promise<void> {
    return this.#pool.destroy();
  }

  async #send(call: UpstreamCall, signal: Signal): Promise<UpstreamResponse> {
    signal.throwIfAborted();
    let response: UpstreamResponse;
    try {
      response = await this.#breaker.run(() => this.#request(call, signal));
    } catch (error) {
      if (error instanceof ConnectionError) throw error.toParleyError();
      if (error instanceof BrokenCircuitError) throw new ConnectionError('connecting', error).toParleyError();
      throw error;
    }
    const { status, headers } = response;
    if (status >= 200 && status < 300) return response;
    throw statusError(
      {
        status,
        retryAfter: headers['retry-after'],
        body: await beginningOf(response),
        ownKey: this.#deps.apiKey,
      },
      this.#settings.retryStatuses.includes(status),
    );
  }

  async #request(
    { method, path, isBesideVersion, headers, body }: UpstreamCall,
    signal: Signal,
  ): Promise<UpstreamResponse> {
    const extra = Object.entries({ ...this.#deps.traceHeaders?.(), ...headers }).flat();
    const response = new UpstreamResponse(signal);
    const options = {
      method,
      path: (isBesideVersion ? this.#basePath.replace(/\/v\d+$/, '') : this.#basePath) + path,
      headers: [...this.#headers, ...extra],
      body: typeof body === 'function' ? Readable.from(body(), { objectMode: false }) : (body ?? null),
    };
    this.#pool.dispatch(options, response);
    try {
      return await response.begun;
    } catch (error) {
      if (error instanceof ConnectionError) throw error;
      if (signal.aborted) throw signal.reason;
      throw new ConnectionError(error instanceof errors.HeadersTimeoutError ? 'late' : 'waiting', error);
    }
  }

  /** Logs failures that only the operator can fix. A request that the model refused is for the client to fix. */
  #report(error: unknown): void {
    if (!(error instanceof ParleyError) || error.code !== 'upstream_error') return;
    if (error.cause instanceof BrokenCircuitError) return;
    const status = error.httpStatus;
    const isModelUnknown = error.cause instanceof StatusError && error.cause.isModelUnknown;
    if (status < 500 && !operatorStatuses.has(status) && !isModelUnknown) return;
    this.#deps.log.warn(
      { engine: this.#deps.name, status, err: briefError(error.cause) },
      'an upstream failed',
    );
  }
}

/** Marks failures to connect, as undici's own errors do not show whether a request was sent. */
function markedConnector(timeout: number): buildConnector.connector {
  const connect = buildConnector({ timeout, allowH2: false });
  return (options, callback) =>
    connect(options, (...[error, socket]) =>
      error ? callback(new ConnectionError('connecting', error), null) : callback(null, socket),
    );
}

/** The headers of every request, names and values in turn. The configured key replaces a configured Authorization. */
function ownHeaders(configured: Readonly<Record<string, string>>, apiKey: string | undefined): string[] {
  const kept = Object.entries(configured).filter(
    ([name]) => apiKey === undefined || name.toLowerCase() !== 'authorization',
  );
  return [...kept.flat(), ...(apiKey === undefined ? [] : ['authorization', `Bearer ${apiKey}`])];
}

/** The part of an error body that arrives soon. A failure to read it does not matter: the status is the answer. */
async function beginningOf(response: UpstreamResponse): Promise<string> {
  const pieces: Uint8Array[] = [];
  let bytes = 0;
  const timer = setTimeout(() => response.close(), errorMsMax);
  try {
    for (let piece = await response.next(); piece; piece = await response.next()) {
      pieces.push(piece);
      bytes += piece.length;
      if (bytes >= errorBytesMax) break;
    }
  } catch {
    // As above.
  } finally {
    clearTimeout(timer);
    response.close();
  }
  return Buffer.concat(pieces).subarray(0, errorBytesMax).toString();
}
