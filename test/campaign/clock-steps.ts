/** A clock that is set forward and back while programs run, by libfaketime. */
import { globSync, writeFileSync } from 'node:fs';
import type { Folder } from '../support/command-line.ts';
import type { Round } from './scenario.ts';

const library = globSync('/usr/lib/*/faketime/libfaketime.so.1')[0];
export const missingFaketime =
  library === undefined ? 'the Debian package faketime is not installed' : undefined;

/** The clock stays within a day, as idempotency keys live that long. */
const stepSecondsMax = 11 * 3_600;

export class SteppedClock {
  readonly #file: string;
  readonly #round: Round;
  readonly #baseSeconds: number;

  /** The clock starts at the end of a month, so that steps cross it. */
  constructor(folder: Folder, round: Round, name = 'clock') {
    this.#file = folder.file(name);
    this.#round = round;
    const now = new Date();
    const monthEnd = Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + 1, 1);
    this.#baseSeconds = Math.round((monthEnd - now.getTime()) / 1_000);
    this.step();
  }

  get env(): Record<string, string> {
    return {
      LD_PRELOAD: library ?? '',
      FAKETIME_TIMESTAMP_FILE: this.#file,
      DONT_FAKE_MONOTONIC: '1',
      FAKETIME_CACHE_DURATION: '1',
    };
  }

  step(): void {
    const offset = this.#baseSeconds + this.#round.random.between(-stepSecondsMax, stepSecondsMax);
    writeFileSync(this.#file, `${offset >= 0 ? '+' : ''}${offset}s`);
  }
}
