import type { ServerHttp2Stream } from 'node:http2';
import type { Socket } from 'node:net';
import type { ServerLimits } from './limits.ts';

/** A connection that sends less than this in the time of a stall is taken to stand still: what it sends may be answers to pings. */
const movingBytesMin = 65_536;

/** Watches one HTTP/2 stream for a client that sends its request, or takes its answer, too slowly. */
export class Http2Stream {
  readonly #stream: ServerHttp2Stream;
  readonly #socket: Socket;
  readonly #limits: ServerLimits;
  readonly #openedAtMs: number;
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

  /** Whether the client lets it wait for longer than it may. */
  isOverdue(nowMs: number): boolean {
    const { bodyMsMax, requestMsMax, stallMsMax } = this.#limits;
    const ageMs = nowMs - this.#openedAtMs;
    if (ageMs > bodyMsMax + requestMsMax + stallMsMax) return true;
    return (ageMs > bodyMsMax && this.#isUnfinished()) || this.#isStalled(nowMs);
  }

  /**
   * The request is not whole. Where its answer has begun it may take as long as the program gives it: a call that streams
   * both ways is never whole before its end.
   */
  #isUnfinished(): boolean {
    const { localClose, remoteClose } = this.#stream.state;
    return remoteClose === 0 && (!this.#stream.headersSent || localClose === 1);
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
