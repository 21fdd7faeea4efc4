import type { KeyId } from '../../core/values/ids.ts';
import type { Step } from '../sql/job.ts';
import { noteKeyUse } from './keys.ts';

const minuteMs = 60_000;
/** Keys whose minute is in memory. */
const keysMax = 10_000;

/** The last use of each key, written with a request once a minute. */
export class LastUses {
  readonly #minutes = new Map<KeyId, number>();

  /** The steps that note a use; none if that of this minute is noted. */
  note(id: KeyId, atMs: number): readonly Step[] {
    const minute = Math.floor(atMs / minuteMs);
    if (this.#minutes.get(id) === minute) return none;
    if (this.#minutes.size >= keysMax) this.#minutes.clear();
    this.#minutes.set(id, minute);
    return [noteKeyUse(id, minute * minuteMs)];
  }
}

const none: readonly Step[] = [];
