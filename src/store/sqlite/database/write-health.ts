import type { StoreObserver } from '../../../core/entities/store.ts';
import type { OpenFiles } from './data-folder.ts';
import { forCaller, isStorageFailure, isSyncFailure, troubleOf, unusable } from './storage-failures.ts';

/** Interval of checking the files and, while writes fail, of trying a small write. */
const checkMs = 1_000;
/** A batch that takes longer counts as failing until it ends. */
const batchMsMax = 10_000;

interface WriteHealthDeps {
  readonly files: OpenFiles;
  readonly observer: StoreObserver;
  /** Makes a small write in the same way as all others. */
  readonly probe: () => Promise<unknown>;
}

/** Tracks whether writes succeed. While they fail, tries a small one every second, to notice the end of an outage. */
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

  /** While writes fail, tries a small write. @throws `overloaded` if it fails, too, or another has not ended yet */
  async assertWritable(): Promise<void> {
    if (this.#trouble === undefined) return;
    if (this.#batchSinceMs !== undefined) throw unusable(this.#trouble);
    await this.#deps.probe();
  }

  /** Notes that a batch is being written. */
  began(): void {
    this.#batchSinceMs = performance.now();
  }

  succeeded(): void {
    this.#batchSinceMs = undefined;
    if (this.#trouble === undefined) return;
    this.#trouble = undefined;
    this.#deps.observer.working();
  }

  /** Notes the error of a batch. Returns the error for its callers. */
  failed(error: unknown): unknown {
    this.#batchSinceMs = undefined;
    // A repeated sync can report success although data is lost. Only a restart reads the state of the disk.
    if (isSyncFailure(error)) this.#deps.observer.lost('The disk could not be synced.', error);
    if (!isStorageFailure(error)) return error;
    this.#fails(error);
    return forCaller(error);
  }

  /** A constraint refused a write that the rules in memory allowed. */
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
    // The health check notes its own failure like any other.
    this.#deps.probe().catch(() => undefined);
  }
}
