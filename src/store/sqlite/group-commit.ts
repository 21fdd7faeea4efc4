import type { Connection } from './database.ts';
import { isBusy, isStorageFailure, isSyncFailure } from './storage-failures.ts';

/** How long writes wait for another program that writes to the database. */
const busyMsMax = 5_000;
/** How long until they try again. The process is free meanwhile. */
const busyRetryMs = 5;

interface Pending {
  readonly work: () => unknown;
  readonly resolve: (value: unknown) => void;
  readonly reject: (error: unknown) => void;
}

/** Settles the promise of a piece of work. */
type Notify = () => void;

export interface CommitChecks {
  /** Called before each commit; throws to roll it back. */
  checkFiles(): void;
  succeeded(): void;
  /** Notes the error of a group. Returns the one for its callers: an error of their own work stays as it is. */
  failed(error: unknown): unknown;
  /** The disk could not be synced: data that SQLite takes for written may be lost. */
  syncFailed(error: unknown): void;
}

/**
 * Runs the writes of concurrent requests in one transaction, so that they share one sync to disk. Each write is atomic, and
 * its promise resolves after the shared commit. The work must be synchronous and may run twice: if one write fails, the group
 * is rolled back and run again with a savepoint for each.
 */
export class GroupCommit {
  readonly #connection: Connection;
  readonly #transaction: (run: () => Notify[]) => Notify[];
  readonly #savepoint: (work: () => unknown) => unknown;
  readonly #checks: CommitChecks;
  #queue: Pending[] = [];
  #scheduled = false;
  #busySinceMs: number | undefined;

  constructor(connection: Connection, checks: CommitChecks) {
    this.#connection = connection;
    this.#checks = checks;
    this.#transaction = connection.transaction((run: () => Notify[]) => {
      const notifications = run();
      checks.checkFiles();
      return notifications;
    }).immediate;
    // A transaction within a transaction is a savepoint.
    this.#savepoint = connection.transaction((work: () => unknown) => work());
  }

  /**
   * Rejects with the error of the work, which is then rolled back; or with `overloaded` if the database cannot be written or
   * another program locks it for too long.
   */
  run<T>(work: () => T): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      this.#queue.push({ work, resolve: (value) => resolve(value as T), reject });
      if (this.#scheduled) return;
      this.#scheduled = true;
      setImmediate(() => this.#flush());
    });
  }

  /** Resolves when no write is waiting. */
  async drain(): Promise<void> {
    // A failed write has told its own caller.
    if (this.#queue.length > 0) await this.run(() => undefined).catch(() => undefined);
  }

  #flush(): void {
    const group = this.#queue;
    this.#queue = [];
    this.#scheduled = false;
    let notifications: Notify[];
    try {
      notifications = this.#commit(group);
    } catch (error) {
      if (isBusy(error) && this.#mayWait()) {
        this.#tryAgain(group);
        return;
      }
      this.#busySinceMs = undefined;
      if (isSyncFailure(error)) this.#checks.syncFailed(error);
      const reason = this.#checks.failed(error);
      for (const { reject } of group) reject(reason);
      return;
    }
    this.#busySinceMs = undefined;
    this.#checks.succeeded();
    for (const notify of notifications) notify();
  }

  #mayWait(): boolean {
    this.#busySinceMs ??= performance.now();
    return performance.now() - this.#busySinceMs < busyMsMax;
  }

  #tryAgain(group: readonly Pending[]): void {
    this.#queue = [...group, ...this.#queue];
    this.#scheduled = true;
    setTimeout(() => this.#flush(), busyRetryMs);
  }

  /** Tries without savepoints first: writes rarely fail, and savepoints cost a fifth of the time. */
  #commit(group: readonly Pending[]): Notify[] {
    let isWorking = false;
    try {
      return this.#transaction(() => {
        isWorking = true;
        const notifications = group.map(({ work, resolve }) => {
          const value = work();
          return () => resolve(value);
        });
        isWorking = false;
        return notifications;
      });
    } catch (error) {
      if (!isWorking || group.length === 1) throw error;
      return this.#transaction(() => group.map((pending) => this.#attempt(pending)));
    }
  }

  #attempt({ work, resolve, reject }: Pending): Notify {
    try {
      const value = this.#savepoint(work);
      return () => resolve(value);
    } catch (error) {
      // Errors such as a full disk end the whole transaction.
      if (!this.#connection.inTransaction || isStorageFailure(error)) throw error;
      return () => reject(error);
    }
  }
}
