import type { ParleyError } from '../../core/errors.ts';
import type { AnswerBody } from './answer-body.ts';
import type { AnswerHeaders } from './answer-headers.ts';
import { malformedResponse } from './failures.ts';

/** Room for the largest answer that is read whole: text with a minute of audio in it. */
const jsonBytesMax = 33_554_432;

/** A 2xx answer whose body is still to be read. */
export class UpstreamAnswer {
  readonly headers: AnswerHeaders;
  /** For one reader. Rejects with `upstream_error` where it breaks off or pauses for too long. */
  readonly body: AnswerBody;

  constructor(headers: AnswerHeaders, body: AnswerBody) {
    this.headers = headers;
    this.body = body;
  }

  /** Lower case, without parameters; empty where the upstream names none. */
  get contentType(): string {
    const value = this.headers['content-type'];
    const [type = ''] = (Array.isArray(value) ? (value[0] ?? '') : (value ?? '')).split(';');
    return type.trim().toLowerCase();
  }

  /** The whole body. @throws `upstream_error` where it is larger than `bytesMax` */
  async bytes(bytesMax: number): Promise<Uint8Array> {
    const pieces: Uint8Array[] = [];
    let bytes = 0;
    for await (const piece of this.body) {
      bytes += piece.length;
      if (bytes > bytesMax) throw malformedResponse(`the answer is larger than ${bytesMax} bytes`);
      pieces.push(piece);
    }
    const [first = new Uint8Array()] = pieces;
    return pieces.length > 1 ? Buffer.concat(pieces) : first;
  }

  /** The whole body as UTF-8. @throws `upstream_error` where it is larger than `bytesMax` */
  async text(bytesMax: number): Promise<string> {
    const { buffer, byteOffset, byteLength } = await this.bytes(bytesMax);
    return Buffer.from(buffer, byteOffset, byteLength).toString();
  }

  /**
   * The whole body as JSON, of at most `bytesMax` bytes. Default: 32 MiB.
   * @throws `upstream_error` where it is no JSON, by its type or its text, or too large
   */
  async json(bytesMax: number = jsonBytesMax): Promise<unknown> {
    if (!isJsonType(this.contentType)) throw this.refuse(`the answer is ${this.contentType}, not JSON`);
    const text = await this.text(bytesMax);
    try {
      return JSON.parse(text);
    } catch (cause) {
      throw malformedResponse('the answer is not JSON', cause);
    }
  }

  /** The error of an answer that is not read further; its connection is cut. */
  refuse(what: string): ParleyError {
    void this.body.return();
    return malformedResponse(what);
  }
}

/** Some servers name no type. */
function isJsonType(type: string): boolean {
  return type === '' || type === 'application/json' || type.endsWith('+json');
}
