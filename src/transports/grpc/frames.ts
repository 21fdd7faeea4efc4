import type { ServerHttp2Stream } from 'node:http2';
import type { ParleyError } from '../../core/values/errors.ts';
import { malformed, notOneMessage, wrongFlag } from '../rpc/request-errors.ts';

/** A flag for compression, and the length of the message in four bytes. */
export const frameHeadBytes = 5;

export interface FrameForm {
  /** Whether the headers name a compression. */
  readonly isPacked: boolean;
  /** Whether the request is a stream of messages, rather than one. */
  readonly isStream: boolean;
}

/**
 * Checks the frames of a request beside grpc-js, which accepts a body that ends inside a message, and reads a message
 * marked as compressed as a plain one.
 */
export class Frames {
  readonly #form: FrameForm;
  readonly #head = Buffer.alloc(frameHeadBytes);
  #headBytes = 0;
  /** Bytes of the current message that have not arrived. */
  #missing = 0;
  #messages = 0;
  #fault: ParleyError | undefined;

  /** Call before grpc-js listens to the stream, so that this check finds faults first. */
  constructor(stream: ServerHttp2Stream, form: FrameForm) {
    this.#form = form;
    stream.on('data', (bytes: Buffer) => this.#follow(bytes));
    stream.on('end', () => this.#end());
  }

  /** @throws the first fault of the body so far */
  check(): void {
    if (this.#fault) throw this.#fault;
  }

  get fault(): ParleyError | undefined {
    return this.#fault;
  }

  #follow(bytes: Buffer): void {
    for (let at = 0; at < bytes.length; ) {
      const wanted = this.#missing || frameHeadBytes - this.#headBytes;
      const taken = Math.min(wanted, bytes.length - at);
      if (this.#missing > 0) this.#missing -= taken;
      else this.#takeHead(bytes.subarray(at, at + taken));
      at += taken;
    }
  }

  #takeHead(bytes: Buffer): void {
    this.#head.set(bytes, this.#headBytes);
    this.#headBytes += bytes.length;
    if (this.#headBytes < frameHeadBytes) return;
    this.#headBytes = 0;
    this.#missing = this.#head.readUInt32BE(1);
    this.#messages++;
    const flag = this.#head.readUInt8(0);
    if (flag > 1 || (flag === 1 && !this.#form.isPacked)) this.#fault ??= wrongFlag();
    if (this.#messages > 1 && !this.#form.isStream) this.#fault ??= notOneMessage();
  }

  #end(): void {
    if (this.#headBytes > 0 || this.#missing > 0) this.#fault ??= malformed();
    if (this.#messages === 0 && !this.#form.isStream) this.#fault ??= notOneMessage();
  }
}
