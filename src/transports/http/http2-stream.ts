import { constants, type ServerHttp2Stream } from 'node:http2';
import type { Socket } from 'node:net';
import { lingerMsMax, type ServerLimits } from './limits.ts';

/** Bytes within `stallMsMax` below which a connection stands still, as they may be answers to pings. */
const movingBytesMin = 65_536;

/** Streams of sessions, which end by themselves. */
const sessions = new WeakSet<ServerHttp2Stream>();

/** Lets a stream go on for longer than a request may, also before its answer begins. */
export function keepOpen(stream: ServerHttp2Stream): void {
  sessions.add(stream);
}

/** Watches one HTTP/2 stream for a client that sends its request, or reads its answer, too slowly. */
export class Http2Stream {
  readonly #stream: ServerHttp2Stream;
  readonly #socket: Socket;
  readonly #limits: ServerLimits;
  readonly #openedAtMs: number;
  #answeredAtMs: number | undefined;
  /** Bytes that waited when the answer last moved, bytes that the socket had sent by then, and the time. */
  #waitingBytes = 0;
  #sentBytes = 0;
  #movedAtMs = 0;

  constructor(stream: ServerHttp2Stream, socket: Socket, limits: ServerLimits, nowMs: number) {
    this.#stream = stream;
    this.#socket = socket;
    this.#limits = limits;
    this.#openedAtMs = nowMs;
  }

  /** Closes the stream if its client is too slow. */
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

  /** Ends the stream without an error code, which would make the client discard its answer. */
  #leave(): void {
    this.#stream.close(constants.NGHTTP2_NO_ERROR);
    // Unread bytes of the request would keep the stream open.
    this.#stream.destroy();
  }

  /**
   * Once the answer has begun, the limit for the body no longer applies: a bidirectional call sends its request until
   * its end.
   */
  #isTooOld(nowMs: number, isUnfinished: boolean): boolean {
    const { bodyMsMax, requestMsMax, stallMsMax } = this.#limits;
    if (sessions.has(this.#stream)) return false;
    const ageMs = nowMs - this.#openedAtMs;
    if (isUnfinished && !this.#stream.headersSent) return ageMs > bodyMsMax;
    return ageMs > bodyMsMax + requestMsMax + stallMsMax;
  }

  #isStalled(nowMs: number): boolean {
    const waitingBytes = this.#stream.writableLength;
    const sentBytes = this.#socket.bytesWritten;
    // While one large part is sent, only the bytes of the socket show that the answer moves.
    const hasMoved = waitingBytes !== this.#waitingBytes || sentBytes - this.#sentBytes >= movingBytesMin;
    if (waitingBytes === 0 || hasMoved) {
      this.#waitingBytes = waitingBytes;
      this.#sentBytes = sentBytes;
      this.#movedAtMs = nowMs;
    }
    return nowMs - this.#movedAtMs > this.#limits.stallMsMax;
  }
}
