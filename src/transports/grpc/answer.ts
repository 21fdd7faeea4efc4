import { constants, type OutgoingHttpHeaders, type ServerHttp2Stream } from 'node:http2';
import { drained } from '../drained.ts';
import { rpcMessage, statusCode, statusDetails } from '../rpc/errors.ts';
import type { ServedCall } from '../run-call.ts';
import { acceptedEncodings } from './request.ts';

const head = {
  ':status': 200,
  'content-type': 'application/grpc+proto',
  'grpc-accept-encoding': acceptedEncodings.join(','),
};
const ok: OutgoingHttpHeaders = { 'grpc-status': 0 };
const deadlineExceeded: OutgoingHttpHeaders = { 'grpc-status': 4, 'grpc-message': 'Deadline exceeded' };

/** The answer of one call. Once the client has left, or the answer has ended, nothing more is sent. */
export class GrpcAnswer {
  readonly #stream: ServerHttp2Stream;
  readonly #served: ServedCall;
  #timer: NodeJS.Timeout | undefined;
  #hasEnded = false;

  constructor(stream: ServerHttp2Stream, served: ServedCall) {
    this.#stream = stream;
    this.#served = served;
  }

  /** Ends the call with DEADLINE_EXCEEDED, unless it ends before. */
  endIn(ms: number): void {
    this.#timer = setTimeout(() => {
      this.end(deadlineExceeded);
      this.#served.cancel();
    }, ms);
  }

  /** Sends the head, if it was not sent before. */
  begin(): void {
    const stream = this.#stream;
    if (stream.headersSent || this.#isOver) return;
    const { id, rateHeaders, answerHeaders } = this.#served;
    const headers = { ...head, 'x-request-id': id, ...rateHeaders, ...answerHeaders };
    stream.respond(headers, { waitForTrailers: true });
  }

  /**
   * Sends messages. Those of one turn of the event loop leave together.
   * @returns resolves when a slow client can receive more; undefined if it can now
   */
  write(messages: Buffer): Promise<void> | undefined {
    this.begin();
    const stream = this.#stream;
    if (this.#isOver) return undefined;
    if (stream.writableCorked === 0) {
      stream.cork();
      process.nextTick(() => stream.uncork());
    }
    return stream.write(messages) ? undefined : drained(stream, this.#served.signal);
  }

  end(trailers = ok): void {
    this.begin();
    if (this.#isOver) return;
    this.#hasEnded = true;
    this.close();
    const stream = this.#stream;
    stream.once('wantTrailers', () => {
      stream.sendTrailers(trailers);
      stopSending(stream);
    });
    stream.end();
    // Discards the rest of the request.
    stream.resume();
  }

  fail(thrown: unknown): void {
    const error = this.#served.errorOf(thrown);
    const details = Buffer.from(statusDetails(error, this.#served.id)).toString('base64');
    this.end({
      ...this.#served.rateHeaders,
      'grpc-status': statusCode(error),
      'grpc-message': encodeURI(rpcMessage(error)),
      'grpc-status-details-bin': details.replace(/=+$/, ''),
    });
  }

  /** Stops the timer of the deadline. */
  close(): void {
    clearTimeout(this.#timer);
  }

  get #isOver(): boolean {
    return this.#hasEnded || this.#stream.destroyed || this.#stream.closed;
  }
}

/** Stops a client that is still sending, once the trailers have left. */
function stopSending(stream: ServerHttp2Stream): void {
  if (stream.readableEnded) return;
  setImmediate(() => {
    if (!stream.destroyed && stream.state.remoteClose === 0) stream.close(constants.NGHTTP2_NO_ERROR);
  });
}
