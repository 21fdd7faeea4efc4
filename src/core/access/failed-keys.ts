import { RateLimiterMemory, RateLimiterRes } from 'rate-limiter-flexible';
import { ParleyError } from '../errors.ts';

const windowSeconds = 60;

/**
 * Counts the requests without a valid key, by the address that they come from. Over the limit such a request is answered with
 * `rate_limit_exceeded`. A valid key is served whatever else its address has sent: many clients may share one.
 */
export class FailedKeys {
  readonly #limiter: RateLimiterMemory | undefined;

  /** @param perMinuteMax for one address; 0 is no limit */
  constructor(perMinuteMax: number) {
    if (perMinuteMax === 0) return;
    this.#limiter = new RateLimiterMemory({ points: perMinuteMax, duration: windowSeconds });
  }

  /** @throws `rate_limit_exceeded` once the address has sent too many of them within a minute */
  async note(address: string): Promise<void> {
    try {
      await this.#limiter?.consume(networkOf(address));
    } catch (reason) {
      if (!(reason instanceof RateLimiterRes)) throw reason;
      throw new ParleyError('rate_limit_exceeded', {
        message:
          'Too many requests without a valid API key come from your address. Wait, then send a valid one.',
        retryAfterSeconds: Math.max(1, Math.ceil(reason.msBeforeNext / 1000)),
      });
    }
  }
}

/** Groups of an IPv6 address, and those that name its network. */
const groupsMax = 8;
const networkGroups = 4;

/** One who has an IPv6 address has the other 2^64 of its network as well. */
function networkOf(address: string): string {
  const plain = address.replace(/^::ffff:(?=\d+\.)/i, '');
  if (!plain.includes(':')) return plain;
  // The two colons stand for as many zeros as there is room for: without those, what follows them would seem to be the network.
  const [head = [], tail = []] = plain.split('::').map((part) => (part === '' ? [] : part.split(':')));
  const zeros = new Array<string>(Math.max(0, groupsMax - head.length - tail.length)).fill('0');
  return [...head, ...zeros, ...tail].slice(0, networkGroups).join(':');
}
