import { errors } from 'undici';
import { JsonScan } from '../../../codec/json-scan.ts';
import { parseJson } from '../../../codec/parse-json.ts';
import { CollectedBytes } from '../../../core/values/collected-bytes.ts';
import type { ParleyError } from '../../../core/values/errors.ts';
import type { Signal } from '../../../core/values/signal.ts';
import { answerLimits } from '../../answer-limits.ts';
import { ConnectionError, malformedResponse, refuseExcess, tooLarge } from '../errors.ts';
import type { UpstreamResponse } from './response.ts';

/** Enough for the largest answer that is read whole: text with a minute of audio in it. */
const jsonBytesMax = 33_554_432;
/** How long the end of an answer may take before its connection is closed instead of kept. */
const endMsMax = 100;

/** A 2xx answer with an unread body: read it with one of the methods, `refuse` or `close` it. */
export class UpstreamAnswer {
  readonly #response: UpstreamResponse;
  readonly #signal: Signal;
  #isComplete = false;
  #onEnd: (() => void) | undefined;

  /**
   * @param signal the signal of the request
   * @param onEnd called once, when the body is read or closed
   */
  constructor(response: UpstreamResponse, signal: Signal, onEnd: () => void) {
    this.#response = response;
    this.#signal = signal;
    this.#onEnd = onEnd;
  }

  /** Lower case, without parameters; empty if the upstream names none. */
  get contentType(): string {
    const [type = ''] = (this.#response.headers['content-type'] ?? '').split(';');
    return type.trim().toLowerCase();
  }

  /**
   * The body as it arrives, of at most `bytesMax` bytes. Slow reading slows the upstream; leaving early closes the connection.
   * @throws `upstream_error` if the body breaks off, pauses for too long or is too large, or the signal's reason
   */
  async *pieces(bytesMax = Number.POSITIVE_INFINITY): AsyncGenerator<Uint8Array, void, void> {
    let bytes = 0;
    try {
      for (let piece = await this.#next(); piece; piece = await this.#next()) {
        bytes += piece.length;
        if (bytes > bytesMax) throw tooLarge(bytesMax);
        yield piece;
      }
    } finally {
      this.close();
    }
  }

  /**
   * The whole body as JSON, of at most `bytesMax` bytes, and never more than 32 MiB.
   * @throws `upstream_error` if its type or its text is not JSON, or it exceeds a limit
   */
  async json(bytesMax: number = jsonBytesMax): Promise<unknown> {
    if (!isJsonType(this.contentType)) throw this.refuse(`the answer is ${this.contentType}, not JSON`);
    const bytes = await this.#bytes(Math.min(bytesMax, jsonBytesMax));
    try {
      return parseJson(bytes.toString());
    } catch (cause) {
      throw malformedResponse('the answer is not JSON', cause);
    }
  }

  /** Tells that nothing after this piece matters: if the body ends soon, its connection is kept for the next request. */
  complete(): void {
    this.#isComplete = true;
  }

  /** Closes the connection and returns the error. */
  refuse(reason: string): ParleyError {
    this.close();
    return malformedResponse(reason);
  }

  /** Leaves the rest of the body unread. Closes its connection, unless the answer is complete. */
  close(): void {
    if (this.#isComplete) this.#response.skipRest(endMsMax);
    else this.#response.close();
    this.#onEnd?.();
    this.#onEnd = undefined;
  }

  async #bytes(bytesMax: number): Promise<Buffer> {
    const body = new CollectedBytes(bytesMax);
    const scan = new JsonScan(answerLimits);
    try {
      for (let piece = await this.#next(); piece; piece = await this.#next()) {
        if (body.length + piece.length > bytesMax) throw tooLarge(bytesMax);
        refuseExcess(scan.read(piece));
        body.add(piece);
      }
    } finally {
      this.close();
    }
    return body.bytes;
  }

  async #next(): Promise<Buffer | undefined> {
    try {
      return await this.#response.next();
    } catch (error) {
      if (this.#signal.aborted) throw this.#signal.reason;
      const stage = error instanceof errors.BodyTimeoutError ? 'idle' : 'reading';
      throw new ConnectionError(stage, error).toParleyError();
    }
  }
}

/** Some servers name no type. */
function isJsonType(type: string): boolean {
  return type === '' || type === 'application/json' || type.endsWith('+json');
}
