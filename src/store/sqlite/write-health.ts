import type { StoreObserver } from '../../core/ports/store.ts';
import type { OpenFiles } from './data-folder.ts';
import type { CommitChecks } from './group-commit.ts';
import { DatabaseMovedError, forCaller, isStorageFailure, troubleOf } from './storage-failures.ts';

/** How often to check the files, and to try a small write while writes fail. */
const checkMs = 1_000;

interface WriteHealthDeps {
  readonly files: OpenFiles;
  readonly observer: StoreObserver;
  /** Makes a small write in the same way as all others. */
  readonly probe: () => Promise<unknown>;
}

/** Knows whether writes succeed. While they fail, it tries a small one every second, so that the end of an outage is noticed. */
export class WriteHealth implements CommitChecks {
  readonly #deps: WriteHealthDeps;
  readonly #timer: NodeJS.Timeout;
  #isFailing = false;

  constructor(deps: WriteHealthDeps) {
    this.#deps = deps;
    this.#timer = setInterval(() => this.#check(), checkMs).unref();
  }

  /** @throws DatabaseMovedError */
  checkFiles(): void {
    if (!this.#deps.files.areInPlace()) throw new DatabaseMovedError();
  }

  succeeded(): void {
    if (!this.#isFailing) return;
    this.#isFailing = false;
    this.#deps.observer.working();
  }

  failed(error: unknown): unknown {
    if (!isStorageFailure(error)) return error;
    if (!this.#isFailing) {
      this.#isFailing = true;
      this.#deps.observer.failing(troubleOf(error), error);
    }
    return forCaller(error);
  }

  /** A repeated sync can report success although data is lost: only a restart reads what the disk holds. */
  syncFailed(cause: unknown): void {
    setImmediate(() => {
      const message =
        'The disk could not be synced. The server ends: its next start reads what the disk holds.';
      throw new Error(message, { cause });
    });
  }

  close(): void {
    clearInterval(this.#timer);
  }

  #check(): void {
    if (!this.#isFailing && this.#deps.files.areInPlace()) return;
    // Its failure is noted like that of any other write.
    this.#deps.probe().catch(() => undefined);
  }
}
