import type { IncomingHttpHeaders } from 'node:http';
import { createUnzip, type Unzip } from 'node:zlib';
import type { Dispatcher } from 'undici';
import type { Signal } from '../../../core/values/signal.ts';

/** Bytes that may wait to be read before the upstream is paused. */
const waitingBytesMax = 65_536;

/** Encodings that are read. */
const compressed = /^(x-)?gzip$|^deflate$/i;

/** The end of a body, with an error if it broke off. */
interface End {
  readonly error?: Error;
}

/** One HTTP response as it arrives, without the stream that `Pool.request` would create. */
export class UpstreamResponse implements Dispatcher.DispatchHandler {
  /** Set when `begun` resolves, like the headers. */
  status = 0;
  headers: IncomingHttpHeaders = {};
  readonly #signal: Signal;
  readonly #begun = Promise.withResolvers<this>();
  readonly #leave = () => this.close(this.#signal.reason);
  #controller: Dispatcher.DispatchController | undefined;
  #pieces: Buffer[] = [];
  #bytes = 0;
  #isSkipped = false;
  /** Reads a body that is compressed although none was asked for. */
  #unzip: Unzip | undefined;
  #end: End | undefined;
  /** Called when a piece has arrived, unless the rest is skipped, and at the end. */
  #wake: (() => void) | undefined;

  /** @param signal closes the connection at every stage */
  constructor(signal: Signal) {
    this.#signal = signal;
    signal.addEventListener('abort', this.#leave);
    if (signal.aborted) this.#leave();
  }

  /** Resolves when status and headers are there. */
  get begun(): Promise<this> {
    return this.#begun.promise;
  }

  /** Whether the body has arrived to its end. */
  get isWhole(): boolean {
    return this.#end !== undefined && this.#end.error === undefined;
  }

  /** The bytes of the body that have arrived since the last call; undefined at its end. Slow reading slows the upstream. */
  async next(): Promise<Buffer | undefined> {
    while (this.#pieces.length === 0) {
      const more = this.more();
      if (more === undefined) return undefined;
      await more;
    }
    return this.take();
  }

  /** The same without waiting: undefined if nothing has arrived. */
  take(): Buffer | undefined {
    const [first] = this.#pieces;
    if (first === undefined) return undefined;
    const piece = this.#pieces.length === 1 ? first : Buffer.concat(this.#pieces, this.#bytes);
    this.#pieces = [];
    this.#bytes = 0;
    (this.#unzip ?? this.#controller)?.resume();
    return piece;
  }

  /** Resolves when more has arrived, or the body has ended. Undefined after its end. @throws why it broke off */
  more(): Promise<void> | undefined {
    if (this.#end?.error !== undefined) throw this.#end.error;
    if (this.#end !== undefined) return undefined;
    return new Promise((resolve) => {
      this.#wake = resolve;
    });
  }

  /** Drops the rest of the body. If it ends in time, its connection is kept for the next request. */
  skipRest(msMax: number): void {
    this.#pieces = [];
    if (this.#end !== undefined) return;
    const timer = setTimeout(() => this.close(), msMax);
    this.#isSkipped = true;
    this.#wake = () => clearTimeout(timer);
    this.#controller?.resume();
  }

  /** Leaves the rest of the body unread and closes the connection. */
  close(reason?: unknown): void {
    if (this.#end !== undefined) return;
    this.#pieces = [];
    const error =
      reason instanceof Error
        ? reason
        : new Error('the caller stopped reading the answer', { cause: reason });
    this.#finish({ error });
    this.#controller?.abort(error);
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller;
    if (this.#end?.error !== undefined) controller.abort(this.#end.error);
  }

  onResponseStart(_: Dispatcher.DispatchController, status: number, headers: IncomingHttpHeaders): void {
    if (status < 200) return;
    this.status = status;
    this.headers = headers;
    if (compressed.test(String(headers['content-encoding']))) this.#openUnzip();
    this.#begun.resolve(this);
  }

  onResponseData(controller: Dispatcher.DispatchController, piece: Buffer): void {
    if (this.#isSkipped) return;
    if (this.#unzip === undefined) this.#push(piece, controller);
    else if (!this.#unzip.write(piece)) controller.pause();
  }

  onResponseEnd(): void {
    if (this.#unzip && !this.#isSkipped) this.#unzip.end();
    else this.#finish({});
  }

  onResponseError(_: Dispatcher.DispatchController, error: Error): void {
    this.#finish({ error });
  }

  /** @param source is paused while too much waits to be read */
  #push(piece: Buffer, source: { pause(): unknown }): void {
    if (this.#isSkipped) return;
    this.#pieces.push(piece);
    this.#bytes += piece.length;
    if (this.#bytes >= waitingBytesMax) source.pause();
    this.#wake?.();
  }

  #openUnzip(): void {
    const unzip = createUnzip();
    unzip.on('data', (piece: Buffer) => this.#push(piece, unzip));
    unzip.on('drain', () => this.#controller?.resume());
    unzip.on('end', () => this.#finish({}));
    unzip.on('error', (error) => this.close(error));
    this.#unzip = unzip;
  }

  #finish(end: End): void {
    if (this.#end !== undefined) return;
    this.#end = end;
    this.#unzip?.destroy();
    this.#signal.removeEventListener('abort', this.#leave);
    this.#begun.reject(end.error);
    this.#wake?.();
  }
}
