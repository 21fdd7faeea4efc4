/** One kind of fault. Each file of a scenario exports one. */
import type { Random } from '../support/random.ts';

/** A run of a scenario. */
export interface Round {
  readonly random: Random;
  /** Servers and databases that were killed. */
  kills: number;
  /** Runs when the round has ended, also after a failure; the latest first. */
  defer(undo: () => unknown): void;
}

export interface Scenario {
  /** The reason why it cannot run here. */
  readonly missing?: string | undefined;
  /** Returns its observations, in a few words. Throws if a promise is broken. */
  play(round: Round): Promise<string>;
}
