import {
  BrokenCircuitError,
  type CircuitBreakerPolicy,
  CircuitState,
  ConsecutiveBreaker,
  circuitBreaker,
  handleWhen,
} from 'cockatiel';
import { briefError } from '../../../core/values/failure-log.ts';
import type { Log } from '../../../core/values/log.ts';
import { ConnectionError } from '../errors.ts';

interface BreakerOptions {
  /** The engine's name, for the log. */
  readonly name: string;
  readonly log: Log;
  readonly failuresMax: number;
  readonly openMs: number;
}

/**
 * Stops calls to an unreachable upstream for a while. Counts failed connections and those that close before an answer.
 * An answer of any status shows that the upstream is up, and a late answer may only be a long one.
 */
export class Breaker {
  readonly #policy: CircuitBreakerPolicy;
  #onConnected: (() => void) | undefined;

  constructor({ name, log, failuresMax, openMs }: BreakerOptions) {
    const isUnreachable = (error: unknown) => error instanceof ConnectionError && error.isUnreachable;
    this.#policy = circuitBreaker(handleWhen(isUnreachable), {
      halfOpenAfter: openMs,
      breaker: new ConsecutiveBreaker(failuresMax),
    });
    this.#policy.onBreak((reason) => {
      const error = 'error' in reason && reason.error instanceof Error ? reason.error : undefined;
      const err = error && briefError(error.cause);
      log.warn({ engine: name, openMs, err }, 'the upstream cannot be reached; calls to it fail at once');
    });
    this.#policy.onHalfOpen(() => log.info({ engine: name }, 'trying the upstream again'));
    this.#policy.onReset(() => log.info({ engine: name }, 'the upstream can be reached again'));
  }

  get state(): 'closed' | 'open' | 'half_open' {
    if (this.#isTrial) return 'half_open';
    return this.#policy.state === CircuitState.Closed ? 'closed' : 'open';
  }

  /**
   * Sends a request, or rejects with BrokenCircuitError while the breaker is open. Calls during a trial fail at once instead
   * of waiting for it.
   */
  async run<T>(send: () => Promise<T>): Promise<T> {
    if (this.#isTrial) throw new BrokenCircuitError();
    let answer: Promise<T> | undefined;
    await this.#policy.execute((): Promise<unknown> => {
      answer = send();
      return this.#isTrial ? Promise.race([answer, this.#connection()]) : answer;
    });
    if (answer === undefined) throw new BrokenCircuitError();
    return answer;
  }

  /** Ends a trial with success as soon as there is a connection: the answer may take a minute. */
  connected(): void {
    this.#onConnected?.();
  }

  #connection(): Promise<void> {
    return new Promise((resolve) => {
      this.#onConnected = resolve;
    });
  }

  get #isTrial(): boolean {
    return this.#policy.state === CircuitState.HalfOpen;
  }
}
