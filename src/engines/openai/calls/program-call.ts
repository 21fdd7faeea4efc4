import { ParleyError } from '../../../core/values/errors.ts';
import type { Signal } from '../../../core/values/signal.ts';
import { untilAborted } from '../../../core/values/signal.ts';
import { systemCode } from '../../../files/reason.ts';

/** The upstream as a program that is started when it is called. */
export interface ServingProgram {
  /** The Unix socket on which it listens; undefined if it listens on a port. */
  readonly socketPath: string | undefined;
  readonly port: number | undefined;
  /** Resolves when the program runs. Release the lease exactly once. */
  acquire(signal: Signal): Promise<ProgramLease>;
}

export interface ProgramLease {
  /** @param hasAnswered whether the whole answer has arrived */
  release(hasAnswered: boolean): void;
  /** Reports that nothing listens there. Resolves when the program may be acquired again. */
  refused(): Promise<void>;
}

const notListening: readonly (string | undefined)[] = ['ECONNREFUSED', 'ENOENT'];

/** One call of a program. If nothing listens where it should, the program is acquired again, once. */
export class ProgramCall {
  readonly #program: ServingProgram;
  #lease: ProgramLease | undefined;

  constructor(program: ServingProgram) {
    this.#program = program;
  }

  /** @param send runs once or twice */
  async run<T>(send: () => Promise<T>, signal: Signal): Promise<T> {
    this.#lease = await this.#program.acquire(signal);
    try {
      return await send();
    } catch (error) {
      const isRefused = error instanceof ParleyError && notListening.includes(systemCode(error.cause));
      if (!isRefused) throw error;
    }
    await untilAborted(this.#lease.refused(), signal);
    this.release(false);
    this.#lease = await this.#program.acquire(signal);
    return send();
  }

  release(hasAnswered: boolean): void {
    this.#lease?.release(hasAnswered);
    this.#lease = undefined;
  }
}
