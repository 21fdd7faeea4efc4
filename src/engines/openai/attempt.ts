import type { Readable } from 'node:stream';
import type { Dispatcher, Pool } from 'undici';
import { ParleyError } from '../../core/errors.ts';
import { AnswerBody } from './answer-body.ts';
import type { AnswerHeaders } from './answer-headers.ts';
import type { CallLife } from './call-life.ts';
import { Lost, lostError } from './failures.ts';

/** An answer of any status. */
export interface RawAnswer {
  readonly status: number;
  readonly headers: AnswerHeaders;
  readonly body: AnswerBody;
}

export interface WireRequest {
  readonly method: 'GET' | 'POST';
  readonly path: string;
  /** Names and values in turn. */
  readonly headers: string[];
  readonly body: string | Uint8Array | Readable | null;
}

export interface AttemptOptions {
  readonly life: CallLife;
  readonly firstByteMs: number;
  readonly idleMs: number;
}

/** One request on its way to an upstream. It may be lost, and its call may end early at any time. */
export class Attempt implements Dispatcher.DispatchHandler {
  readonly #options: AttemptOptions;
  readonly #answer = Promise.withResolvers<RawAnswer>();
  readonly #forget: () => void;
  #connected: PromiseWithResolvers<void> | undefined;
  #controller: Dispatcher.DispatchController | undefined;
  #firstByte: NodeJS.Timeout | undefined;
  /** Why it is over without a whole answer. */
  #failure: { readonly reason: unknown } | undefined;
  #body: AnswerBody | undefined;

  constructor(pool: Pool, request: WireRequest, options: AttemptOptions) {
    this.#options = options;
    this.#forget = options.life.onEarlyEnd((reason) => this.#stop(reason));
    if (this.#failure === undefined) pool.dispatch(request, this);
  }

  /** Rejects with `Lost`, with what the body of the request threw, or with the reason of the call's early end. */
  get answer(): Promise<RawAnswer> {
    return this.#answer.promise;
  }

  /** Resolves when the request has a connection; rejects as `answer` does. */
  get connected(): Promise<void> {
    this.#connected ??= Promise.withResolvers();
    // Who waits for the connection may never come to ask for the answer.
    this.#answer.promise.catch(() => undefined);
    if (this.#controller) this.#connected.resolve();
    if (this.#failure) this.#connected.reject(this.#failure.reason);
    return this.#connected.promise;
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    if (this.#failure) {
      controller.abort(abandoned());
      return;
    }
    this.#controller = controller;
    this.#connected?.resolve();
    this.#firstByte = setTimeout(() => this.#stop(new Lost('late')), this.#options.firstByteMs);
  }

  /** A long upload does not use up the time of the answer. */
  onBodySent(): void {
    this.#firstByte?.refresh();
  }

  onResponseStart(_controller: Dispatcher.DispatchController, status: number, headers: AnswerHeaders): void {
    // Interim answers, such as 103 Early Hints.
    if (status < 200) return;
    clearTimeout(this.#firstByte);
    this.#body = this.#openBody();
    this.#answer.resolve({ status, headers, body: this.#body });
  }

  onResponseData(_controller: Dispatcher.DispatchController, piece: Uint8Array): void {
    this.#body?.push(piece);
  }

  onResponseEnd(): void {
    this.#body?.end();
  }

  onResponseError(_controller: Dispatcher.DispatchController | undefined, error: Error): void {
    this.#fail(error instanceof ParleyError ? error : new Lost(this.#stage, error));
  }

  get #stage(): 'connecting' | 'unanswered' | 'cut' {
    if (this.#body) return 'cut';
    return this.#controller ? 'unanswered' : 'connecting';
  }

  #openBody(): AnswerBody {
    const body = new AnswerBody({
      source: {
        pause: () => this.#controller?.pause(),
        resume: () => this.#controller?.resume(),
        stop: () => this.#controller?.abort(abandoned()),
      },
      idleMs: this.#options.idleMs,
      idleError: () => lostError(new Lost('idle')),
    });
    body.whenClosed(this.#forget);
    return body;
  }

  #stop(reason: unknown): void {
    this.#fail(reason);
    this.#controller?.abort(abandoned());
  }

  #fail(reason: unknown): void {
    if (this.#failure) return;
    this.#failure = { reason };
    clearTimeout(this.#firstByte);
    if (this.#body) {
      this.#body.fail(reason instanceof Lost ? lostError(reason) : reason);
      return;
    }
    this.#forget?.();
    this.#connected?.reject(reason);
    this.#answer.reject(reason);
  }
}

function abandoned(): Error {
  return new Error('the request was abandoned');
}
