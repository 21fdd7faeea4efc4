import type { StoreObserver } from '../../../core/entities/store.ts';
import type { OpenFiles } from './data-folder.ts';
import { forCaller, isStorageFailure, isSyncFailure, troubleOf, unusable } from './storage-failures.ts';

/** How often to check the files, and to try a small write while writes fail. */
const checkMs = 1_000;
/** A batch that takes longer counts as failing until it ends. */
const batchMsMax = 10_000;

interface WriteHealthDeps {
  readonly files: OpenFiles;
  readonly observer: StoreObserver;
  /** Makes a small write in the same way as all others. */
  readonly probe: () => Promise<unknown>;
}

/** Knows whether writes succeed. While they fail, it tries a small one every second, so that the end of an outage is noticed. */
export class WriteHealth {
  readonly #deps: WriteHealthDeps;
  readonly #timer: NodeJS.Timeout;
  #trouble: unknown;
  #batchSinceMs: number | undefined;

  constructor(deps: WriteHealthDeps) {
    this.#deps = deps;
    this.#timer = setInterval(() => this.#check(), checkMs).unref();
  }

  get isFailing(): boolean {
    return this.#trouble !== undefined;
  }

  /** While writes fail, tries one. @throws `overloaded` if it fails, too, or another has not ended yet */
  async assertWritable(): Promise<void> {
    if (this.#trouble === undefined) return;
    if (this.#batchSinceMs !== undefined) throw unusable(this.#trouble);
    await this.#deps.probe();
  }

  /** A batch is being written. */
  began(): void {
    this.#batchSinceMs = performance.now();
  }

  succeeded(): void {
    this.#batchSinceMs = undefined;
    if (this.#trouble === undefined) return;
    this.#trouble = undefined;
    this.#deps.observer.working();
  }

  /** Notes the error of a batch. Returns the one for its callers. */
  failed(error: unknown): unknown {
    this.#batchSinceMs = undefined;
    // A repeated sync can report success although data is lost: only a restart reads what the disk holds.
    if (isSyncFailure(error)) this.#deps.observer.lost('The disk could not be synced.', error);
    if (!isStorageFailure(error)) return error;
    this.#fails(error);
    return forCaller(error);
  }

  /** The tables have refused what the rules in memory allowed. */
  violated(error: unknown): void {
    this.#deps.observer.lost('The books in memory are not those of the database.', error);
  }

  close(): void {
    clearInterval(this.#timer);
  }

  #fails(error: unknown): void {
    if (this.#trouble === undefined) this.#deps.observer.failing(troubleOf(error), error);
    this.#trouble = error;
  }

  #check(): void {
    const sinceMs = this.#batchSinceMs;
    if (sinceMs !== undefined) {
      if (performance.now() - sinceMs > batchMsMax) this.#fails(new Error('a write does not end'));
      return;
    }
    if (!this.isFailing && this.#deps.files.areInPlace()) return;
    // A failure is noted like that of any other write.
    this.#deps.probe().catch(() => undefined);
  }
}
