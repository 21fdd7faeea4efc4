import { RateLimiterMemory, RateLimiterRes } from 'rate-limiter-flexible';
import { networkOf } from '../values/addresses.ts';
import { ParleyError } from '../values/errors.ts';

const windowSeconds = 60;

/**
 * Counts requests without a valid key by client address. Above the limit they get `rate_limit_exceeded`. Requests with
 * a valid key are served regardless, as many clients may share an address.
 */
export class FailedKeys {
  readonly #limiter: RateLimiterMemory | undefined;

  /** @param perMinuteMax failures per minute and address; 0 means no limit */
  constructor(perMinuteMax: number) {
    if (perMinuteMax === 0) return;
    this.#limiter = new RateLimiterMemory({ points: perMinuteMax, duration: windowSeconds });
  }

  /** @throws `rate_limit_exceeded` once the address has too many failures in a minute */
  async note(address: string): Promise<void> {
    try {
      await this.#limiter?.consume(networkOf(address));
    } catch (reason) {
      if (!(reason instanceof RateLimiterRes)) throw reason;
      throw new ParleyError('rate_limit_exceeded', {
        message:
          'Too many requests without a valid API key came from your address. Wait, then send a valid key.',
        retryAfterSeconds: Math.max(1, Math.ceil(reason.msBeforeNext / 1000)),
      });
    }
  }
}
