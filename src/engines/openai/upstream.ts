import { Readable } from 'node:stream';
import { BrokenCircuitError, type RetryPolicy } from 'cockatiel';
import { Pool } from 'undici';
import { ParleyError } from '../../core/errors.ts';
import { briefError } from '../../core/failure-log.ts';
import type { Log } from '../../core/ports/log.ts';
import type { AnswerBody } from './answer-body.ts';
import { Attempt, type RawAnswer, type WireRequest } from './attempt.ts';
import { Breaker } from './breaker.ts';
import { CallLife } from './call-life.ts';
import { CallSlots } from './call-slots.ts';
import { Lost, lostError, RefusedError, refusalError, timeUp } from './failures.ts';
import { retryWhatHasNotRun } from './retry.ts';
import type { OpenAiSettings } from './settings.ts';
import { UpstreamAnswer } from './upstream-answer.ts';

/** How much is kept of what an upstream says with an error, and how long it may take to say it. */
const wordBytesMax = 4_096;
const wordsMsMax = 1_000;
/** The statuses below 500 that are for the operator to mend. */
const operatorStatuses = new Set([401, 402, 403, 404]);

export interface UpstreamCall {
  readonly method: 'GET' | 'POST';
  /** Beneath the base URL, with its slash, such as `/chat/completions`. */
  readonly path: string;
  /** Beside those of the configuration. */
  readonly headers?: Readonly<Record<string, string>>;
  /** One that is made in pieces is made anew for every try. */
  readonly body?: string | Uint8Array | (() => AsyncIterable<Uint8Array>);
  /** Aborting it stops the call at every stage. */
  readonly signal: AbortSignal;
}

export type UpstreamSettings = Pick<
  OpenAiSettings,
  | 'baseUrl'
  | 'headers'
  | 'connectMs'
  | 'firstByteMs'
  | 'idleMs'
  | 'totalMs'
  | 'callsMax'
  | 'callQueueMax'
  | 'keepAliveMs'
  | 'retriesMax'
  | 'retryStatuses'
  | 'breakerFailures'
  | 'breakerOpenMs'
>;

export interface UpstreamDeps {
  /** The engine's name in the configuration, for the log. */
  readonly name: string;
  readonly apiKey: string | undefined;
  readonly log: Log;
  /** The headers that carry the trace of the running request on. Default: none. */
  readonly traceHeaders?: (() => Readonly<Record<string, string>>) | undefined;
}

/** An HTTP server that speaks the OpenAI API: its connections, its limits, and what becomes of calls that fail. */
export class Upstream {
  readonly #settings: UpstreamSettings;
  readonly #deps: UpstreamDeps;
  readonly #pool: Pool;
  readonly #basePath: string;
  readonly #headers: readonly string[];
  readonly #slots: CallSlots;
  readonly #breaker: Breaker;
  readonly #retry: RetryPolicy;

  constructor(settings: UpstreamSettings, deps: UpstreamDeps) {
    const { origin, pathname } = new URL(settings.baseUrl);
    this.#settings = settings;
    this.#deps = deps;
    this.#basePath = pathname.replace(/\/+$/, '');
    this.#headers = ownHeaders(settings.headers, deps.apiKey);
    this.#slots = new CallSlots(settings.callsMax, settings.callQueueMax);
    this.#retry = retryWhatHasNotRun(settings.retriesMax);
    this.#breaker = new Breaker({
      name: deps.name,
      log: deps.log,
      failuresMax: settings.breakerFailures,
      openMs: settings.breakerOpenMs,
    });
    this.#pool = new Pool(origin, {
      connections: settings.callsMax,
      connect: { timeout: settings.connectMs },
      allowH2: false,
      keepAliveTimeout: settings.keepAliveMs,
      // The time of an answer is kept here, where a reader that is slow does not use it up.
      headersTimeout: 0,
      bodyTimeout: 0,
    });
  }

  /** `down` while it is left alone because it could not be reached. */
  state(): 'up' | 'down' {
    return this.#breaker.isClosed ? 'up' : 'down';
  }

  /** Calls that wait for a free place. */
  get waiting(): number {
    return this.#slots.waiting;
  }

  /**
   * Sends a request, waiting for a free place first, and again where it cannot have run. Resolves with the beginning of a
   * 2xx answer, whose body must be read, released or returned. Redirects are not followed.
   *
   * Rejects with `upstream_error`: with the upstream's status and Retry-After where it answered with an error, else 502;
   * with `overloaded` where too many calls wait; with the signal's reason where that aborts. `hasNotRun` is set where the
   * upstream cannot have begun, and for a status of `retryStatuses`.
   */
  async call(call: UpstreamCall): Promise<UpstreamAnswer> {
    const { totalMs } = this.#settings;
    const life = new CallLife(call.signal, totalMs, () => timeUp(totalMs));
    try {
      await this.#slots.take(life);
    } catch (error) {
      life.close();
      throw error;
    }
    const over = () => {
      life.close();
      this.#slots.release();
    };
    try {
      const answer = await life.race(this.#retry.execute(() => this.#try(call, life), call.signal));
      answer.body.whenClosed(over);
      return answer;
    } catch (error) {
      over();
      this.#report(error);
      throw error;
    }
  }

  /** Ends all connections. Calls that still run are lost. */
  close(): Promise<void> {
    return this.#pool.destroy();
  }

  async #try(call: UpstreamCall, life: CallLife): Promise<UpstreamAnswer> {
    const { status, headers, body } = await this.#send(call, life);
    if (status >= 200 && status < 300) return new UpstreamAnswer(headers, body);
    const words = await beginningOf(body);
    throw refusalError({ status, headers, words }, this.#settings.retryStatuses.includes(status));
  }

  async #send(call: UpstreamCall, life: CallLife): Promise<RawAnswer> {
    life.throwIfEnded();
    const { firstByteMs, idleMs } = this.#settings;
    try {
      return await this.#breaker.run(
        () => new Attempt(this.#pool, this.#toRequest(call), { life, firstByteMs, idleMs }),
      );
    } catch (error) {
      if (error instanceof Lost) throw lostError(error);
      if (error instanceof BrokenCircuitError) throw lostError(new Lost('connecting', error));
      throw error;
    }
  }

  #toRequest({ method, path, headers = {}, body }: UpstreamCall): WireRequest {
    return {
      method,
      path: this.#basePath + path,
      headers: [...this.#headers, ...Object.entries({ ...this.#deps.traceHeaders?.(), ...headers }).flat()],
      body: typeof body === 'function' ? Readable.from(body(), { objectMode: false }) : (body ?? null),
    };
  }

  /** Tells the operator of what only they can mend; a request that the model refused is its client's to mend. */
  #report(error: unknown): void {
    if (!(error instanceof ParleyError) || error.code !== 'upstream_error') return;
    if (error.cause instanceof BrokenCircuitError) return;
    const status = error.httpStatus;
    const isModelUnknown = error.cause instanceof RefusedError && error.cause.isModelUnknown;
    if (status < 500 && !operatorStatuses.has(status) && !isModelUnknown) return;
    this.#deps.log.warn(
      { engine: this.#deps.name, status, err: briefError(error.cause) },
      'an upstream failed',
    );
  }
}

/** The headers of every request, names and values in turn. The key of the configuration wins over a header of it. */
function ownHeaders(configured: Readonly<Record<string, string>>, apiKey: string | undefined): string[] {
  const kept = Object.entries(configured).filter(
    ([name]) => apiKey === undefined || name.toLowerCase() !== 'authorization',
  );
  return [...kept.flat(), ...(apiKey === undefined ? [] : ['authorization', `Bearer ${apiKey}`])];
}

/** The first words of an answer, as far as they come at once. What goes wrong with them is of no interest. */
async function beginningOf(body: AnswerBody): Promise<string> {
  const pieces: Uint8Array[] = [];
  let bytes = 0;
  const timer = setTimeout(() => body.return(), wordsMsMax);
  try {
    for await (const piece of body) {
      pieces.push(piece);
      bytes += piece.length;
      if (bytes >= wordBytesMax) break;
    }
  } catch {
    // The status is the answer; its words are only for the log.
  } finally {
    clearTimeout(timer);
  }
  return Buffer.concat(pieces).subarray(0, wordBytesMax).toString();
}
