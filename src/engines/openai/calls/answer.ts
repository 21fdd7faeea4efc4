import { type Dispatcher, errors } from 'undici';
import { JsonScan } from '../../../codec/json-scan.ts';
import { parseJson } from '../../../codec/parse-json.ts';
import { CollectedBytes } from '../../../core/collected-bytes.ts';
import { ParleyError } from '../../../core/errors.ts';
import { answerLimits } from '../../answer-limits.ts';
import { ConnectionError, malformedResponse, refuseExcess, tooLarge } from '../errors.ts';

/** Enough for the largest answer that is read whole: text with a minute of audio in it. */
const jsonBytesMax = 33_554_432;
/** How long the end of an answer may take before its connection is closed instead of kept. */
const endMsMax = 100;

/** A 2xx answer with an unread body: read it with one of the methods, `refuse` or `close` it. */
export class UpstreamAnswer {
  readonly #headers: Dispatcher.ResponseData['headers'];
  readonly #body: Dispatcher.ResponseData['body'];
  readonly #signal: AbortSignal;
  #isComplete = false;
  #onEnd: (() => void) | undefined;

  /**
   * @param signal the signal of the request
   * @param onEnd called once, when the body is read or closed
   */
  constructor({ headers, body }: Dispatcher.ResponseData, signal: AbortSignal, onEnd: () => void) {
    this.#headers = headers;
    this.#body = body;
    this.#signal = signal;
    this.#onEnd = onEnd;
  }

  /** Lower case, without parameters; empty if the upstream names none. */
  get contentType(): string {
    const value = this.#headers['content-type'];
    const [type = ''] = (Array.isArray(value) ? (value[0] ?? '') : (value ?? '')).split(';');
    return type.trim().toLowerCase();
  }

  /**
   * The body as it arrives, of at most `bytesMax` bytes. Slow reading slows the upstream; leaving early closes the connection.
   * @throws `upstream_error` if the body breaks off, pauses for too long or is too large, or the signal's reason
   */
  async *pieces(bytesMax = Number.POSITIVE_INFINITY): AsyncGenerator<Uint8Array, void, void> {
    let bytes = 0;
    try {
      const pieces: AsyncIterable<Uint8Array> = this.#body.iterator({ destroyOnReturn: false });
      for await (const piece of pieces) {
        bytes += piece.length;
        if (bytes > bytesMax) throw tooLarge(bytesMax);
        yield piece;
      }
    } catch (error) {
      throw error instanceof ParleyError ? error : this.#readError(error);
    } finally {
      if (this.#isComplete) this.#keepConnection();
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

  /** Leaves the rest of the body unread and closes the connection. */
  close(): void {
    if (!this.#isComplete) this.#body.on('error', () => undefined).destroy();
    this.#end();
  }

  async #bytes(bytesMax: number): Promise<Buffer> {
    const body = new CollectedBytes(bytesMax);
    const scan = new JsonScan(answerLimits);
    try {
      for await (const piece of this.#body as AsyncIterable<Uint8Array>) {
        if (body.length + piece.length > bytesMax) throw tooLarge(bytesMax);
        refuseExcess(scan.read(piece));
        body.add(piece);
      }
    } catch (error) {
      throw error instanceof ParleyError ? error : this.#readError(error);
    } finally {
      this.#end();
    }
    return body.bytes;
  }

  #end(): void {
    this.#onEnd?.();
    this.#onEnd = undefined;
  }

  #readError(error: unknown): unknown {
    if (this.#signal.aborted) return this.#signal.reason;
    const stage = error instanceof errors.BodyTimeoutError ? 'idle' : 'reading';
    return new ConnectionError(stage, error).toParleyError();
  }

  #keepConnection(): void {
    const limit = Number.MAX_SAFE_INTEGER;
    this.#body.dump({ limit, signal: AbortSignal.timeout(endMsMax) }).catch(() => undefined);
  }
}

/** Some servers name no type. */
function isJsonType(type: string): boolean {
  return type === '' || type === 'application/json' || type.endsWith('+json');
}
