import {
  BrokenCircuitError,
  type CircuitBreakerPolicy,
  CircuitState,
  ConsecutiveBreaker,
  circuitBreaker,
  handleWhen,
} from 'cockatiel';
import { briefError } from '../../core/failure-log.ts';
import type { Log } from '../../core/ports/log.ts';
import type { Attempt, RawAnswer } from './attempt.ts';
import { Lost } from './failures.ts';

export interface BreakerOptions {
  /** The engine's name, for the log. */
  readonly name: string;
  readonly log: Log;
  readonly failuresMax: number;
  readonly openMs: number;
}

/**
 * Leaves an upstream alone for a while that cannot be reached. Only that counts: no connection, or one that is lost before
 * an answer. An answer of whatever status shows that it is there, and one that is late may only be long.
 */
export class Breaker {
  readonly #policy: CircuitBreakerPolicy;

  constructor({ name, log, failuresMax, openMs }: BreakerOptions) {
    const counts = (error: unknown) => error instanceof Lost && error.isUnreachable;
    this.#policy = circuitBreaker(handleWhen(counts), {
      halfOpenAfter: openMs,
      breaker: new ConsecutiveBreaker(failuresMax),
    });
    this.#policy.onBreak((reason) => {
      const lost = 'error' in reason && reason.error instanceof Error ? reason.error : undefined;
      const err = lost && briefError(lost.cause);
      log.warn({ engine: name, openMs, err }, 'the upstream cannot be reached and is left alone');
    });
    this.#policy.onHalfOpen(() => log.info({ engine: name }, 'the upstream is tried again'));
    this.#policy.onReset(() => log.info({ engine: name }, 'the upstream can be reached again'));
  }

  get isClosed(): boolean {
    return this.#policy.state === CircuitState.Closed;
  }

  /**
   * The answer of an attempt that `begin` makes. Rejects with BrokenCircuitError, without an attempt, while the upstream is
   * left alone, and with what the attempt rejects with.
   */
  async run(begin: () => Attempt): Promise<RawAnswer> {
    // Others do not wait for the one that tries.
    if (this.#isTrial) throw new BrokenCircuitError();
    let attempt: Attempt | undefined;
    await this.#policy.execute((): Promise<unknown> => {
      attempt = begin();
      return this.#isTrial ? tried(attempt) : attempt.answer;
    });
    if (attempt === undefined) throw new BrokenCircuitError();
    return attempt.answer;
  }

  get #isTrial(): boolean {
    return this.#policy.state === CircuitState.HalfOpen;
  }
}

/**
 * A connection is enough for a trial, as the answer itself may take a minute. A trial that is given up before has shown
 * nothing: the next one is after another pause.
 */
async function tried({ connected }: Attempt): Promise<void> {
  try {
    await connected;
  } catch (error) {
    throw error instanceof Lost ? error : new Lost('connecting', error);
  }
}
