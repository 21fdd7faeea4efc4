import type { IncomingHttpHeaders } from 'node:http';
import { createUnzip, type Unzip } from 'node:zlib';
import { type Dispatcher, errors } from 'undici';
import { JsonScan } from '../../../codec/json-scan.ts';
import { parseJson } from '../../../codec/parse-json.ts';
import { CollectedBytes } from '../../../core/values/collected-bytes.ts';
import type { ParleyError } from '../../../core/values/errors.ts';
import type { Signal } from '../../../core/values/signal.ts';
import { answerBytesMax, answerLimits, harmlessBytes } from '../../answer-limits.ts';
import { ConnectionError, malformedResponse, refuseExcess, tooLarge } from '../errors.ts';

/** Bytes that may wait to be read before the upstream is paused. */
const waitingBytesMax = 65_536;
/** Time limit for the end of an answer. After it the connection is closed instead of kept. */
const endMsMax = 100;
/** Encodings that are read. */
const compressed = /^(x-)?gzip$|^deflate$/i;

/** Removes a byte order mark. */
const utf8 = new TextDecoder();

/** One HTTP answer as it arrives, without the stream that `Pool.request` would create. Read its body, or call `refuse` or `close`. */
export class UpstreamAnswer implements Dispatcher.DispatchHandler {
  /** Set when `begun` resolves, like the headers. */
  status = 0;
  headers: IncomingHttpHeaders = {};
  /** Called once, when the body is read or closed. */
  onEnd: ((isWhole: boolean) => void) | undefined;
  readonly #signal: Signal;
  readonly #begun = Promise.withResolvers<this>();
  readonly #leave = () => this.#abort(this.#signal.reason);
  #controller: Dispatcher.DispatchController | undefined;
  #pieces: Buffer[] = [];
  #bytes = 0;
  #bytesRead = 0;
  /** Reads a body that is compressed although none was asked for. */
  #unzip: Unzip | undefined;
  #isComplete = false;
  #isSkipped = false;
  /** The end of the body, with an error if it broke off. */
  #end: { readonly error?: Error } | undefined;
  /** Called when a piece has arrived, unless the rest is skipped, and at the end. */
  #wake: (() => void) | undefined;

  /** @param signal of the request; closes the connection at every stage */
  constructor(signal: Signal) {
    this.#signal = signal;
    signal.addEventListener('abort', this.#leave);
    if (signal.aborted) this.#leave();
  }

  /** Resolves when status and headers are there. */
  get begun(): Promise<this> {
    return this.#begun.promise;
  }

  /** Media type in lower case, without parameters; empty if the upstream sends none. */
  get contentType(): string {
    const [type = ''] = (this.headers['content-type'] ?? '').split(';');
    return type.trim().toLowerCase();
  }

  /**
   * The bytes of the body that have arrived since the last call, of at most `bytesMax` in all; undefined at its end. Slow reading slows
   * the upstream. Call `close` after the last one.
   * @throws `upstream_error` if the body breaks off, stalls or is too large, or the signal's reason
   */
  async next(bytesMax = Number.POSITIVE_INFINITY): Promise<Buffer | undefined> {
    for (;;) {
      const piece = this.#take(bytesMax);
      const more = piece ? undefined : this.#more();
      if (more === undefined) return piece;
      await more;
    }
  }

  /**
   * The whole body as JSON, whatever its type, at most `bytesMax` bytes and 32 MiB.
   * @param readOther reads a body of another form; returns undefined if it is JSON. Default: all are JSON
   * @throws `upstream_error` if its text is not JSON, or it exceeds a limit
   */
  async json(bytesMax: number = answerBytesMax, readOther?: (body: Buffer) => unknown): Promise<unknown> {
    const bytes = await this.#whole(Math.min(bytesMax, answerBytesMax));
    const other = readOther?.(bytes);
    if (other !== undefined) return other;
    try {
      return parseJson(utf8.decode(bytes));
    } catch (cause) {
      throw malformedResponse(`the answer of the type ${this.contentType || 'none'} is not JSON`, cause);
    }
  }

  /** Drops the rest of the body. If it ends soon, its connection is kept for the next request. */
  complete(): void {
    this.#isComplete = true;
  }

  /** Closes the connection and returns the error. */
  refuse(reason: string): ParleyError {
    this.close();
    return malformedResponse(reason);
  }

  /** Leaves the rest of the body unread, and closes its connection unless the answer is complete. Only the first call has an effect. */
  close(): void {
    const isWhole = this.#isComplete || (this.#end !== undefined && this.#end.error === undefined);
    if (this.#isComplete) this.#skipRest();
    else this.#abort();
    this.onEnd?.(isWhole);
    this.onEnd = undefined;
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
    else this.#finish();
  }

  onResponseError(_: Dispatcher.DispatchController, error: Error): void {
    this.#finish(error);
  }

  async #whole(bytesMax: number): Promise<Buffer> {
    const { 'content-length': length, 'content-encoding': encoding } = this.headers;
    const announced = encoding === undefined ? Number(length ?? bytesMax) : bytesMax;
    const body = new CollectedBytes(Math.min(announced, bytesMax));
    let scan: JsonScan | undefined;
    let scanned = 0;
    try {
      for (;;) {
        for (let piece = this.#take(bytesMax); piece; piece = this.#take(bytesMax)) {
          body.add(piece);
          if (body.length <= harmlessBytes) continue;
          scan ??= new JsonScan(answerLimits);
          refuseExcess(scan.read(body.bytes.subarray(scanned)));
          scanned = body.length;
        }
        const more = this.#more();
        if (more === undefined) return body.bytes;
        await more;
      }
    } finally {
      this.close();
    }
  }

  /** Takes the bytes that have arrived; undefined if there are none. */
  #take(bytesMax: number): Buffer | undefined {
    const [first] = this.#pieces;
    if (first === undefined) return undefined;
    if (this.#bytesRead + this.#bytes > bytesMax) throw tooLarge(bytesMax);
    const piece = this.#pieces.length === 1 ? first : Buffer.concat(this.#pieces, this.#bytes);
    this.#bytesRead += this.#bytes;
    this.#pieces = [];
    this.#bytes = 0;
    (this.#unzip ?? this.#controller)?.resume();
    return piece;
  }

  /** Resolves when more has arrived, or the body has ended. Undefined after its end. @throws why it broke off */
  #more(): Promise<void> | undefined {
    if (this.#end === undefined)
      return new Promise((resolve) => {
        this.#wake = resolve;
      });
    const { error } = this.#end;
    if (error === undefined) return undefined;
    if (this.#signal.aborted) throw this.#signal.reason;
    const stage = error instanceof errors.BodyTimeoutError ? 'idle' : 'reading';
    throw new ConnectionError(stage, error);
  }

  #skipRest(): void {
    this.#pieces = [];
    if (this.#end !== undefined || this.#isSkipped) return;
    const timer = setTimeout(() => this.#abort(), endMsMax);
    this.#isSkipped = true;
    this.#wake = () => clearTimeout(timer);
    this.#controller?.resume();
  }

  #abort(reason?: unknown): void {
    if (this.#end !== undefined) return;
    this.#pieces = [];
    const error =
      reason instanceof Error
        ? reason
        : new Error('the caller stopped reading the answer', { cause: reason });
    this.#finish(error);
    this.#controller?.abort(error);
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
    unzip.on('end', () => this.#finish());
    unzip.on('error', (error) => this.#abort(error));
    this.#unzip = unzip;
  }

  #finish(error?: Error): void {
    if (this.#end !== undefined) return;
    this.#end = error ? { error } : {};
    this.#unzip?.destroy();
    this.#signal.removeEventListener('abort', this.#leave);
    this.#begun.reject(error);
    this.#wake?.();
  }
}
