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

/** The bodies of one address that are not closed. */
interface Share {
  bytes: number;
  bodies: number;
  /** In order of arrival. Each returns whether there is room now. */
  readonly waiting: Set<() => boolean>;
}

/** The state that all bodies share. Only the functions of a body change it. */
export class ByteBudget {
  readonly limits: ByteLimits;
  /** Bytes that all requests together may have in memory now. */
  bytes = 0;
  waiters = 0;
  readonly shares = new Map<string, Share>();
  readonly crowded = new Set<Share>();

  constructor(limits: ByteLimits) {
    this.limits = limits;
  }

  /** Registers the body of a client's request; nothing of it is in memory yet. @param signal ends a wait for memory */
  bodyOf(address: string, signal: Signal): BufferedBody {
    return new BufferedBody(this, networkOf(address), signal);
  }
}

export class BufferedBody {
  readonly #budget: ByteBudget;
  readonly #network: string;
  readonly #share: Share;
  readonly #signal: Signal;
  #bytes = 0;
  #isClosed = false;

  constructor(budget: ByteBudget, network: string, signal: Signal) {
    this.#budget = budget;
    this.#network = network;
    this.#share = budget.shares.get(network) ?? { bytes: 0, bodies: 0, waiting: new Set() };
    this.#share.bodies++;
    budget.shares.set(network, this.#share);
    this.#signal = signal;
  }

  /**
   * Resolves when the request may have this many bytes in memory, counted from its beginning.
   * @throws `overloaded` if that takes too long, the signal's reason, or `request_cancelled` after `close`
   */
  async admit(bytes: number): Promise<void> {
    if (!this.#isClosed && !this.tryAdmit(bytes)) await this.#wait(bytes);
    if (!this.#isClosed) return;
    this.keep(0);
    throw new ParleyError('request_cancelled');
  }

  /** Whether the request may have this many bytes in memory now. */
  tryAdmit(bytes: number): boolean {
    return bytes <= this.#bytes || (!this.#isClosed && this.#share.waiting.size === 0 && this.#tryAdd(bytes));
  }

  /** Releases all but this many bytes, and admits others in their place. */
  keep(bytes: number): void {
    if (bytes >= this.#bytes) return;
    this.#set(bytes);
    for (const share of [this.#share, ...this.#budget.crowded]) admitNext(share);
  }

  /** Releases all bytes, also those admitted later. */
  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.keep(0);
    if (--this.#share.bodies === 0) this.#budget.shares.delete(this.#network);
  }

  /** A body larger than the limit is admitted if it is alone, or it would never be read. */
  #tryAdd(bytes: number): boolean {
    const { bytesMax, bytesPerAddressMax } = this.#budget.limits;
    const [others, ofAddress] = [this.#budget.bytes - this.#bytes, this.#share.bytes - this.#bytes];
    const fits =
      (others === 0 || others + bytes <= bytesMax) &&
      (ofAddress === 0 || ofAddress + bytes <= bytesPerAddressMax);
    if (fits) this.#set(bytes);
    return fits;
  }

  #set(bytes: number): void {
    const more = bytes - this.#bytes;
    this.#budget.bytes += more;
    this.#share.bytes += more;
    this.#bytes = bytes;
  }

  #wait(bytes: number): Promise<void> {
    const [budget, share, signal] = [this.#budget, this.#share, this.#signal];
    const { bytesMax, bytesPerAddressMax, waitMsMax } = budget.limits;
    // Waiting requests use memory, too: the bytes that came with their headers.
    const isCrowded =
      share.waiting.size >= bytesPerAddressMax / sentBytesMax || budget.waiters >= bytesMax / sentBytesMax;
    if (isCrowded) return Promise.reject(tooMany());
    return new Promise((resolve, reject) => {
      const leave = () => {
        clearTimeout(timer);
        signal.removeEventListener('abort', onAbort);
        budget.waiters--;
        share.waiting.delete(tryAgain);
        if (share.waiting.size === 0) budget.crowded.delete(share);
      };
      const giveUp = (reason: unknown) => {
        leave();
        reject(reason);
        admitNext(share);
      };
      const onAbort = () => giveUp(signal.reason);
      const timer = setTimeout(() => giveUp(tooMany()), waitMsMax);
      const tryAgain = () => {
        const isAdmitted = this.#tryAdd(bytes);
        if (isAdmitted) {
          leave();
          resolve();
        }
        return isAdmitted;
      };
      share.waiting.add(tryAgain);
      budget.crowded.add(share);
      budget.waiters++;
      signal.addEventListener('abort', onAbort);
      if (signal.aborted) onAbort();
    });
  }
}

function admitNext({ waiting }: Share): void {
  for (const tryAgain of waiting) if (!tryAgain()) return;
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
