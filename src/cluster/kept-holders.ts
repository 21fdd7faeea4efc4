import type { KeyHolder } from '../core/ports/store.ts';

/** How long a worker believes what it was told of a key without asking again. */
export const keptMsMax = 1_000;
/** So many keys take about 10 MB. */
const holdersMax = 10_000;

interface Kept {
  readonly holder: KeyHolder;
  readonly untilMs: number;
}

/**
 * Who holds each key, kept in a worker for a second after it has asked: every request asks for it. An administrator's change is
 * acknowledged when every worker has forgotten all of it, or when so much time has gone by that none can believe it any more.
 */
export class KeptHolders {
  readonly #kept = new Map<string, Kept>();
  #generation = 0;

  /** @param ask asks the process that has the database */
  async find(
    hash: string,
    ask: (hash: string) => Promise<KeyHolder | undefined>,
  ): Promise<KeyHolder | undefined> {
    const askedAtMs = performance.now();
    const kept = this.#kept.get(hash);
    if (kept !== undefined && askedAtMs < kept.untilMs) return kept.holder;
    const generation = this.#generation;
    const holder = await ask(hash);
    // What was on its way while all was to be forgotten is forgotten, too. Of a key that there is not, nothing is kept.
    if (holder !== undefined && generation === this.#generation) {
      if (this.#kept.size >= holdersMax) this.#kept.clear();
      this.#kept.set(hash, { holder, untilMs: askedAtMs + keptMsMax });
    }
    return holder;
  }

  forgetAll(): void {
    this.#generation++;
    this.#kept.clear();
  }
}
