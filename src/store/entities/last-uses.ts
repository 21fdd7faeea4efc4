import type { KeyId } from '../../core/values/ids.ts';

const minuteMs = 60_000;
/** The number of keys whose last minute is in memory. */
const keysMax = 10_000;

/** The last use of each key, written with a request once a minute. */
export class LastUses {
  readonly #minutes = new Map<KeyId, number>();

  /** The start of the minute of a use; undefined if it was noted before. */
  note(id: KeyId, atMs: number): number | undefined {
    const minute = Math.floor(atMs / minuteMs);
    if (this.#minutes.get(id) === minute) return undefined;
    if (this.#minutes.size >= keysMax) this.#minutes.clear();
    this.#minutes.set(id, minute);
    return minute * minuteMs;
  }
}
