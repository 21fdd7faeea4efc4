import { constants, type ServerHttp2Stream } from 'node:http2';
import type { Socket } from 'node:net';
import { lingerMsMax, type ServerLimits } from './limits.ts';

/** A connection that sends less than this in the time of a stall stands still: what it sends may be answers to pings. */
const movingBytesMin = 65_536;

/** Watches one HTTP/2 stream for a client that sends its request, or takes its answer, too slowly. */
export class Http2Stream {
  readonly #stream: ServerHttp2Stream;
  readonly #socket: Socket;
  readonly #limits: ServerLimits;
  readonly #openedAtMs: number;
  #answeredAtMs: number | undefined;
  /** What waited to be sent when last something of it went, how much the socket had sent then, and when that was. */
  #waitingBytes = 0;
  #sentBytes = 0;
  #movedAtMs = 0;

  constructor(stream: ServerHttp2Stream, socket: Socket, limits: ServerLimits, nowMs: number) {
    this.#stream = stream;
    this.#socket = socket;
    this.#limits = limits;
    this.#openedAtMs = nowMs;
  }

  /** Closes the stream where its client lets it wait for longer than it may. */
  check(nowMs: number): void {
    const { localClose, remoteClose } = this.#stream.state;
    const isUnfinished = remoteClose === 0;
    if (localClose === 1) this.#answeredAtMs ??= nowMs;
    if (this.#answeredAtMs !== undefined && isUnfinished) {
      if (nowMs - this.#answeredAtMs > lingerMsMax(this.#limits)) this.#leave();
    } else if (this.#isTooOld(nowMs, isUnfinished) || this.#isStalled(nowMs)) {
      this.#stream.close(constants.NGHTTP2_CANCEL);
    }
  }

  /** The client has its answer, which the code of an error would take from it again. */
  #leave(): void {
    this.#stream.close(constants.NGHTTP2_NO_ERROR);
    // What came of the request and was never read would keep it open.
    this.#stream.destroy();
  }

  /**
   * A request whose answer has begun may take as long as the program gives it: a call that streams both ways is not whole
   * before its end.
   */
  #isTooOld(nowMs: number, isUnfinished: boolean): boolean {
    const { bodyMsMax, requestMsMax, stallMsMax } = this.#limits;
    const ageMs = nowMs - this.#openedAtMs;
    if (isUnfinished && !this.#stream.headersSent) return ageMs > bodyMsMax;
    return ageMs > bodyMsMax + requestMsMax + stallMsMax;
  }

  #isStalled(nowMs: number): boolean {
    const waitingBytes = this.#stream.writableLength;
    const sentBytes = this.#socket.bytesWritten;
    // A large part goes as one: while it does, only the socket tells that it moves.
    const hasMoved = waitingBytes !== this.#waitingBytes || sentBytes - this.#sentBytes >= movingBytesMin;
    if (waitingBytes === 0 || hasMoved) {
      this.#waitingBytes = waitingBytes;
      this.#sentBytes = sentBytes;
      this.#movedAtMs = nowMs;
    }
    return nowMs - this.#movedAtMs > this.#limits.stallMsMax;
  }
}
