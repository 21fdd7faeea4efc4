import { errors } from 'undici';
import { JsonScan } from '../../../codec/json-scan.ts';
import { parseJson } from '../../../codec/parse-json.ts';
import { CollectedBytes } from '../../../core/values/collected-bytes.ts';
import { ParleyError } from '../../../core/values/errors.ts';
import type { Signal } from '../../../core/values/signal.ts';
import { answerBytesMax, answerLimits, harmlessBytes } from '../../answer-limits.ts';
import { ConnectionError, malformedResponse, refuseExcess, tooLarge } from '../errors.ts';
import type { UpstreamResponse } from './response.ts';

/** Time limit for the end of an answer. After it the connection is closed instead of kept. */
const endMsMax = 100;

/** Removes a byte order mark. */
const utf8 = new TextDecoder();

/** A 2xx answer with an unread body. Read it with one of the methods, or call `refuse` or `close`. */
export class UpstreamAnswer {
  readonly #response: UpstreamResponse;
  readonly #signal: Signal;
  #isComplete = false;
  #bytesRead = 0;
  #onEnd: ((isWhole: boolean) => void) | undefined;

  /**
   * @param signal the signal of the request
   * @param onEnd called once, when the body is read or closed
   */
  constructor(response: UpstreamResponse, signal: Signal, onEnd: (isWhole: boolean) => void) {
    this.#response = response;
    this.#signal = signal;
    this.#onEnd = onEnd;
  }

  /** Media type in lower case, without parameters; empty if the upstream sends none. */
  get contentType(): string {
    const [type = ''] = (this.#response.headers['content-type'] ?? '').split(';');
    return type.trim().toLowerCase();
  }

  /**
   * The next bytes of the body, of at most `bytesMax` in all; undefined at its end. Slow reading slows the upstream. Call `close` after
   * the last one.
   * @throws `upstream_error` if the body breaks off, stalls or is too large, or the signal's reason
   */
  async next(bytesMax = Number.POSITIVE_INFINITY): Promise<Buffer | undefined> {
    try {
      const piece = await this.#response.next();
      this.#bytesRead += piece?.length ?? 0;
      if (this.#bytesRead > bytesMax) throw tooLarge(bytesMax);
      return piece;
    } catch (error) {
      throw error instanceof ParleyError ? error : this.#broken(error);
    }
  }

  /**
   * The whole body as JSON, whatever its type, at most `bytesMax` bytes and 32 MiB.
   * @param readOther reads a body of another form; returns undefined if it is JSON. Default: all are JSON
   * @throws `upstream_error` if its text is not JSON, or it exceeds a limit
   */
  async json(bytesMax: number = answerBytesMax, readOther?: (body: Buffer) => unknown): Promise<unknown> {
    const bytes = await this.#bytes(Math.min(bytesMax, answerBytesMax));
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
    if (this.#onEnd === undefined) return;
    const isWhole = this.#isComplete || this.#response.isWhole;
    if (this.#isComplete) this.#response.skipRest(endMsMax);
    else this.#response.close();
    this.#onEnd(isWhole);
    this.#onEnd = undefined;
  }

  async #bytes(bytesMax: number): Promise<Buffer> {
    const { 'content-length': length, 'content-encoding': encoding } = this.#response.headers;
    const announced = encoding === undefined ? Number(length ?? bytesMax) : bytesMax;
    const body = new CollectedBytes(Math.min(announced, bytesMax));
    const scan = new JsonScan(answerLimits);
    let scanned = 0;
    try {
      for (;;) {
        for (let piece = this.#response.take(); piece; piece = this.#response.take()) {
          if (body.length + piece.length > bytesMax) throw tooLarge(bytesMax);
          body.add(piece);
          if (body.length <= harmlessBytes) continue;
          refuseExcess(scan.read(body.bytes.subarray(scanned)));
          scanned = body.length;
        }
        const more = this.#response.more();
        if (more === undefined) return body.bytes;
        await more;
      }
    } catch (error) {
      throw error instanceof ParleyError ? error : this.#broken(error);
    } finally {
      this.close();
    }
  }

  /** The error of a body that broke off. */
  #broken(cause: unknown): unknown {
    if (this.#signal.aborted) return this.#signal.reason;
    const stage = cause instanceof errors.BodyTimeoutError ? 'idle' : 'reading';
    return new ConnectionError(stage, cause).toParleyError();
  }
}
