import { briefError, type Log } from '../../../core/values/log.ts';
import { ConnectionError } from '../errors.ts';

interface BreakerOptions {
  readonly name: string;
  readonly log: Log;
  readonly failuresMax: number;
  readonly openMs: number;
}

/** A call that was not sent, as the breaker is open. */
export class BrokenCircuitError extends Error {}

/**
 * Stops calls to an unreachable upstream for a while, then tries it with one call. Counts failed connections in a row. An
 * upstream that answers with any status, late, or by closing the connection can be reached: one client's requests may be
 * what it fails at.
 */
export class Breaker {
  readonly #options: BreakerOptions;
  #state: 'closed' | 'open' | 'half_open' = 'closed';
  #failures = 0;
  #openedAtMs = 0;

  constructor(options: BreakerOptions) {
    this.#options = options;
  }

  get state(): 'closed' | 'open' | 'half_open' {
    return this.#state;
  }

  /**
   * Sends a request. Calls during a trial fail at once instead of waiting for it.
   * @throws the errors of `send`; `upstream_error` with the cause BrokenCircuitError while the breaker is open
   */
  async run<T>(send: () => Promise<T>): Promise<T> {
    const isTrial = this.#state !== 'closed';
    if (isTrial) this.#beginTrial();
    try {
      const answer = await send();
      this.#failures = 0;
      if (isTrial) this.connected();
      return answer;
    } catch (error) {
      if (error instanceof ConnectionError && error.stage === 'connecting') this.#failed(error);
      else if (isTrial) this.connected();
      throw error;
    }
  }

  /** Ends a trial with success as soon as there is a connection: the answer may take a minute. */
  connected(): void {
    if (this.#state !== 'half_open') return;
    this.#state = 'closed';
    this.#failures = 0;
    const { name, log } = this.#options;
    log.info({ engine: name }, 'the upstream can be reached again');
  }

  #beginTrial(): void {
    const { name, log, openMs } = this.#options;
    const isEarly = performance.now() < this.#openedAtMs + openMs;
    if (isEarly || this.#state === 'half_open') {
      throw new ConnectionError('connecting', new BrokenCircuitError('the breaker is open'));
    }
    this.#state = 'half_open';
    log.info({ engine: name }, 'trying the upstream again');
  }

  #failed({ cause }: ConnectionError): void {
    const { name, log, failuresMax, openMs } = this.#options;
    this.#failures++;
    const mayOpen = this.#state === 'half_open' || this.#failures >= failuresMax;
    if (!mayOpen || this.#state === 'open') return;
    this.#state = 'open';
    this.#openedAtMs = performance.now();
    const err = cause instanceof Error ? briefError(cause) : undefined;
    log.warn({ engine: name, openMs, err }, 'the upstream cannot be reached; calls to it fail at once');
  }
}
