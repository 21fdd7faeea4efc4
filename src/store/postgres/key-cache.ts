import type { KeyHolder } from '../../core/entities/key.ts';
import type { Executor } from '../sql/executor.ts';
import { soon } from './database/patience.ts';
import { KeyReads } from './key-reads.ts';

/** Number of keys in memory. They take about 10 MB. */
const holdersMax = 10_000;
/** How long a key may be used without asking the database again, if no notification of a change arrives. */
const lifeMs = 1_000;

interface Known {
  readonly holder: KeyHolder;
  readonly readAtMs: number;
}

type Holder = Promise<KeyHolder | undefined>;

/** Keys with their accounts, in memory for a second. Keys of administrators are read each time. */
export class KeyCache {
  readonly #keyReads: KeyReads;
  readonly #known = new Map<string, Known>();
  /** Concurrent requests share a read. */
  #reads = new Map<string, Holder>();

  constructor(executor: Executor) {
    this.#keyReads = new KeyReads(executor);
  }

  async find(hash: string): Promise<KeyHolder | undefined> {
    const known = this.#known.get(hash);
    if (known && performance.now() - known.readAtMs < lifeMs) return known.holder;
    return this.#reads.get(hash) ?? this.#share(hash);
  }

  /** Drops all keys, and the results of reads that have begun. */
  clear(): void {
    this.#known.clear();
    this.#reads = new Map();
  }

  async #share(hash: string): Holder {
    const reads = this.#reads;
    const readAtMs = performance.now();
    const read = soon(this.#keyReads.find(hash));
    reads.set(hash, read);
    try {
      const holder = await read;
      if (holder?.account !== undefined && reads === this.#reads) this.#keep(hash, { holder, readAtMs });
      return holder;
    } finally {
      reads.delete(hash);
    }
  }

  #keep(hash: string, known: Known): void {
    if (this.#known.size >= holdersMax) this.#known.clear();
    this.#known.set(hash, known);
  }
}
