/** The events of a session over its WebSocket, in both directions. */
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { WebSocket } from 'ws';
import type { ServedCall } from '../run-call.ts';

/** Bytes of messages that may wait or be unfinished without counting with the bodies in memory: a second of audio. */
export const freeBytes = 65_536;
/** Bytes of waiting messages beyond which nothing more is read. */
export const waitingBytesMax = 262_144;
/** Bytes that count for each waiting message beside its content, so that many small ones are bounded, too. */
const messageOverheadBytes = 256;
/** A client with more unread bytes is disconnected. */
export const unreadBytesMax = 1_048_576;
/** Interval of pings while nothing is read: only a write then shows that the client has left. */
const pausedPingMs = 2_000;
/** Messages of a connection after which others get their turn: a packet may have thousands. */
const messagesPerTurn = 32;

export class EventSocket {
  readonly #socket: WebSocket;
  readonly #served: ServedCall;
  readonly #messages: Buffer[] = [];
  #waitingBytes = 0;
  #isHandling = false;
  #pings: NodeJS.Timeout | undefined;

  /** Reads nothing before `listen`. */
  constructor(socket: WebSocket, served: ServedCall, onClose: (code: number) => void) {
    this.#socket = socket;
    this.#served = served;
    socket.pause();
    socket.on('error', () => socket.terminate());
    // The library answers pings by itself, also those of a client that reads nothing.
    socket.on('ping', () => this.#checkUnread());
    socket.once('close', (code) => {
      clearInterval(this.#pings);
      onClose(code);
    });
  }

  /**
   * Handles messages one after the other. Reads on meanwhile, to notice at once that the client leaves.
   * @param handle gets undefined for a binary message, and does not reject
   */
  listen(handle: (message: string | undefined) => Promise<void>): void {
    this.#socket.on('message', (data, isBinary) => {
      const message = isBinary || !Buffer.isBuffer(data) ? Buffer.alloc(0) : data;
      this.#messages.push(message);
      this.#waitingBytes += message.length + messageOverheadBytes;
      void this.#handle(handle);
      if (!this.#hasRoom()) this.#pause();
    });
    this.#socket.resume();
  }

  /** Resolves once the event is written: a slow reader slows the session. */
  send(event: object): Promise<void> {
    return new Promise((resolve) => {
      this.#socket.send(JSON.stringify(event), () => resolve());
      this.#checkUnread();
    });
  }

  /** Reads on, so that the client's part of the end arrives. */
  close(code: number, reason = ''): void {
    this.#readOn();
    this.#socket.resume();
    this.#socket.close(code, reason);
  }

  terminate(): void {
    this.#socket.terminate();
  }

  async #handle(handle: (message: string | undefined) => Promise<void>): Promise<void> {
    if (this.#isHandling) return;
    this.#isHandling = true;
    let handled = 0;
    for (let message = this.#messages.shift(); message; message = this.#messages.shift()) {
      if (++handled % messagesPerTurn === 0) await nextTurn();
      await handle(message.length > 0 ? String(message) : undefined);
      this.#waitingBytes -= message.length + messageOverheadBytes;
      if (this.#hasRoom()) this.#readOn();
    }
    this.#served.body.keep(0);
    this.#isHandling = false;
  }

  #hasRoom(): boolean {
    const counted = this.#waitingBytes - freeBytes;
    return this.#waitingBytes <= waitingBytesMax && (counted <= 0 || this.#served.body.tryAdmit(counted));
  }

  #pause(): void {
    this.#socket.pause();
    // An unread event shows it, too, and must not look as if the client read on.
    const ping = () => this.#socket.bufferedAmount === 0 && this.#socket.ping();
    this.#pings ??= setInterval(ping, pausedPingMs);
  }

  #readOn(): void {
    if (this.#pings === undefined) return;
    clearInterval(this.#pings);
    this.#pings = undefined;
    this.#socket.resume();
  }

  #checkUnread(): void {
    if (this.#socket.bufferedAmount > unreadBytesMax) this.#socket.terminate();
  }
}
