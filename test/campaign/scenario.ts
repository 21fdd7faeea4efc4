/** One kind of trouble: each file of a scenario has one. */
import type { Random } from '../support/random.ts';

/** A play of a scenario. */
export interface Round {
  readonly random: Random;
  /** Servers and databases that were killed. */
  kills: number;
  /** Runs when the round has ended, however it ended; the latest first. */
  defer(undo: () => unknown): void;
}

export interface Scenario {
  /** Why it cannot run here. */
  readonly missing?: string | undefined;
  /** Returns what it has seen, in a few words. Throws where a promise is broken. */
  play(round: Round): Promise<string>;
}
