/** Shares the memory for request bodies, on all wires and ports together, among addresses. */

import { networkOf } from '../core/values/addresses.ts';
import { ParleyError } from '../core/values/errors.ts';
import type { Signal } from '../core/values/signal.ts';

export interface ByteLimits {
  readonly bytesMax: number;
  /** Maximum for one IPv4 address or IPv6 /64. */
  readonly bytesPerAddressMax: number;
  /** How long a request waits for others to end. */
  readonly waitMsMax: number;
}

/** Bytes of its body that a waiting client may have sent: the window of an HTTP/2 stream and Node's buffers. */
const sentBytesMax = 131_072;
/** Bytes admitted first for a body of unknown length. A larger body is then admitted up to its limit at once. */
const firstBytes = 65_536;
/** Maximum ratio that gzip and deflate reach. Bodies in other forms that reach more are refused. */
export const compressionMax = 1_032;
const retryAfterSeconds = 5;

/** The requests of one address. */
interface Share {
  bytes: number;
  /** In order of arrival. */
  readonly waiting: Set<Waiter>;
}

interface Waiter {
  readonly body: BufferedBody;
  readonly bytes: number;
  readonly admit: () => void;
}

export class ByteBudget {
  readonly limits: ByteLimits;
  readonly #shares = new Map<string, Share>();
  readonly #crowded = new Set<Share>();
  #bytes = 0;
  #waiters = 0;

  constructor(limits: ByteLimits) {
    this.limits = limits;
  }

  /** Bytes that all requests together may have in memory now. */
  get bytes(): number {
    return this.#bytes;
  }

  /** Registers the body of a client's request; nothing of it is in memory yet. @param signal ends a wait for memory */
  bodyOf(address: string, signal: Signal): BufferedBody {
    return new BufferedBody(this, networkOf(address), signal);
  }

  /** Adds bytes to a body, now or when others end. Use `BufferedBody.admit`. */
  take(body: BufferedBody, bytes: number): Promise<void> {
    const share = this.#shares.get(body.network) ?? { bytes: 0, waiting: new Set() };
    this.#shares.set(body.network, share);
    if (share.waiting.size === 0 && this.#fits(share, body, bytes)) {
      this.#add(share, body, bytes);
      return Promise.resolve();
    }
    return this.#wait(share, body, bytes);
  }

  /** Adds bytes to a body if there is room now. Use `BufferedBody.tryAdmit`. */
  tryTake(body: BufferedBody, bytes: number): boolean {
    const share = this.#shares.get(body.network) ?? { bytes: 0, waiting: new Set() };
    if (share.waiting.size > 0 || !this.#fits(share, body, bytes)) return false;
    this.#shares.set(body.network, share);
    this.#add(share, body, bytes);
    return true;
  }

  /** Removes bytes of a body, and admits others in their place. Use `BufferedBody.keep`. */
  release(body: BufferedBody, bytes: number): void {
    const share = this.#shares.get(body.network);
    if (share === undefined) return;
    this.#add(share, body, -bytes);
    for (const crowded of [share, ...this.#crowded]) this.#admitNext(crowded);
    this.#forget(body.network, share);
  }

  /** A body larger than the limit is admitted if it is alone, or it would never be read. */
  #fits(share: Share, body: BufferedBody, bytes: number): boolean {
    const { bytesMax, bytesPerAddressMax } = this.limits;
    const [all, ofAddress] = [this.#bytes - body.bytes, share.bytes - body.bytes];
    return (
      (all === 0 || this.#bytes + bytes <= bytesMax) &&
      (ofAddress === 0 || share.bytes + bytes <= bytesPerAddressMax)
    );
  }

  #add(share: Share, body: BufferedBody, bytes: number): void {
    this.#bytes += bytes;
    share.bytes += bytes;
    body.bytes += bytes;
  }

  #admitNext(share: Share): void {
    for (const { body, bytes, admit } of share.waiting) {
      if (!this.#fits(share, body, bytes)) return;
      this.#add(share, body, bytes);
      admit();
    }
  }

  #wait(share: Share, body: BufferedBody, bytes: number): Promise<void> {
    const { signal } = body;
    const { bytesMax, bytesPerAddressMax, waitMsMax } = this.limits;
    // Waiting requests use memory, too: the bytes that came with their headers.
    const isCrowded =
      share.waiting.size >= bytesPerAddressMax / sentBytesMax || this.#waiters >= bytesMax / sentBytesMax;
    if (isCrowded) {
      this.#forget(body.network, share);
      return Promise.reject(tooMany());
    }
    return new Promise((resolve, reject) => {
      const leave = () => {
        clearTimeout(timer);
        signal.removeEventListener('abort', onAbort);
        this.#waiters--;
        share.waiting.delete(waiter);
        if (share.waiting.size === 0) this.#crowded.delete(share);
      };
      const giveUp = (reason: unknown) => {
        leave();
        reject(reason);
        this.#admitNext(share);
        this.#forget(body.network, share);
      };
      const onAbort = () => giveUp(signal.reason);
      const timer = setTimeout(() => giveUp(tooMany()), waitMsMax);
      const admit = () => {
        leave();
        resolve();
      };
      const waiter = { body, bytes, admit };
      share.waiting.add(waiter);
      this.#crowded.add(share);
      this.#waiters++;
      signal.addEventListener('abort', onAbort);
      if (signal.aborted) onAbort();
    });
  }

  #forget(network: string, share: Share): void {
    if (share.bytes === 0 && share.waiting.size === 0) this.#shares.delete(network);
  }
}

/** The part of one request in the budget. */
export class BufferedBody {
  readonly network: string;
  readonly signal: Signal;
  /** Set by the budget. */
  bytes = 0;
  readonly #budget: ByteBudget;
  #isClosed = false;

  constructor(budget: ByteBudget, network: string, signal: Signal) {
    this.#budget = budget;
    this.network = network;
    this.signal = signal;
  }

  /**
   * Resolves when the request may have this many bytes in memory, counted from its beginning.
   * @throws `overloaded` if that takes too long, the signal's reason, or `request_cancelled` after `close`
   */
  async admit(bytes: number): Promise<void> {
    if (bytes > this.bytes) await this.#budget.take(this, bytes - this.bytes);
    if (!this.#isClosed) return;
    this.keep(0);
    throw new ParleyError('request_cancelled');
  }

  /** Whether the request may have this many bytes in memory now. */
  tryAdmit(bytes: number): boolean {
    return bytes <= this.bytes || (!this.#isClosed && this.#budget.tryTake(this, bytes - this.bytes));
  }

  /** Releases all but this many bytes. */
  keep(bytes: number): void {
    if (bytes < this.bytes) this.#budget.release(this, this.bytes - bytes);
  }

  /** Releases all bytes, also those admitted later. */
  close(): void {
    this.#isClosed = true;
    this.keep(0);
  }
}

/** The bytes to admit for a body of unknown length, once this many have arrived. */
export function bytesForPart(received: number, bytesMax: number): number {
  return received <= firstBytes ? firstBytes : Math.max(received, bytesMax);
}

/** The bytes to admit for a compressed body of this length. */
export function bytesUnpacked(length: number, bytesMax: number): number {
  return Math.min(bytesMax, length * compressionMax);
}

function tooMany(): ParleyError {
  return new ParleyError('overloaded', {
    message:
      'The server reads as many large requests as it can. Wait, then try again, or send fewer at once.',
    retryAfterSeconds,
  });
}
