import { ParleyError } from '../../core/errors.ts';
import type { Connection } from './database.ts';

/** How long writes wait for another program that is writing to the database, such as a backup. */
const busyMsMax = 5_000;
/** How long until they try again, with the process free for all else. */
const busyRetryMs = 5;

interface Pending {
  readonly work: () => unknown;
  readonly resolve: (value: unknown) => void;
  readonly reject: (error: unknown) => void;
}

/** Tells who waits for a piece of work what became of it. */
type Tell = () => void;

/**
 * Runs the writes of concurrent requests in one transaction, so that they share one sync to disk. Each is kept whole or not
 * at all, and its promise resolves only after the shared commit. The work must be synchronous, and may be run a second time:
 * where one of a group fails, the group is rolled back and run again with a savepoint for each.
 */
export class GroupCommit {
  readonly #connection: Connection;
  readonly #transaction: (run: () => Tell[]) => Tell[];
  readonly #savepoint: (work: () => unknown) => unknown;
  readonly #onSyncFailed: (error: unknown) => void;
  #queue: Pending[] = [];
  #scheduled = false;
  #busySinceMs: number | undefined;

  /** @param onSyncFailed told that the disk could not be synced: what SQLite holds to be written may be lost */
  constructor(connection: Connection, onSyncFailed: (error: unknown) => void) {
    this.#connection = connection;
    this.#onSyncFailed = onSyncFailed;
    this.#transaction = connection.transaction((run: () => Tell[]) => run()).immediate;
    // A transaction within a transaction is a savepoint.
    this.#savepoint = connection.transaction((work: () => unknown) => work());
  }

  /**
   * Rejects with what the work throws, and then nothing of it is kept; with `overloaded` where another program holds the
   * database for too long; or with the reason that the commit failed.
   */
  run<T>(work: () => T): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      this.#queue.push({ work, resolve: (value) => resolve(value as T), reject });
      if (this.#scheduled) return;
      this.#scheduled = true;
      setImmediate(() => this.#flush());
    });
  }

  /** Resolves when nothing waits any more. */
  async drain(): Promise<void> {
    if (this.#queue.length > 0) await this.run(() => undefined);
  }

  #flush(): void {
    const group = this.#queue;
    this.#queue = [];
    this.#scheduled = false;
    let tells: Tell[];
    try {
      tells = this.#commit(group);
    } catch (error) {
      if (isBusy(error) && this.#waits()) {
        this.#tryAgain(group);
        return;
      }
      this.#busySinceMs = undefined;
      if (isSyncFailure(error)) this.#onSyncFailed(error);
      const reason = isBusy(error) ? heldTooLong(error) : error;
      for (const { reject } of group) reject(reason);
      return;
    }
    this.#busySinceMs = undefined;
    for (const tell of tells) tell();
  }

  #waits(): boolean {
    this.#busySinceMs ??= performance.now();
    return performance.now() - this.#busySinceMs < busyMsMax;
  }

  #tryAgain(group: readonly Pending[]): void {
    this.#queue = [...group, ...this.#queue];
    this.#scheduled = true;
    setTimeout(() => this.#flush(), busyRetryMs);
  }

  /** Nearly always nothing fails. Savepoints would cost a fifth of the whole, as SQLite copies what each is to change. */
  #commit(group: readonly Pending[]): Tell[] {
    let isAtWork = false;
    try {
      return this.#transaction(() => {
        isAtWork = true;
        const tells = group.map(({ work, resolve }) => {
          const value = work();
          return () => resolve(value);
        });
        isAtWork = false;
        return tells;
      });
    } catch (error) {
      if (!isAtWork || group.length === 1) throw error;
      return this.#transaction(() => group.map((pending) => this.#attempt(pending)));
    }
  }

  #attempt({ work, resolve, reject }: Pending): Tell {
    try {
      const value = this.#savepoint(work);
      return () => resolve(value);
    } catch (error) {
      // SQLite ends the whole transaction on errors such as a full disk: then none of the group is kept.
      if (!this.#connection.inTransaction) throw error;
      return () => reject(error);
    }
  }
}

/** Only the begin of a transaction can meet this, so nothing of the group has been done. */
function isBusy(error: unknown): boolean {
  return codeOf(error).startsWith('SQLITE_BUSY');
}

function isSyncFailure(error: unknown): boolean {
  return ['SQLITE_IOERR_FSYNC', 'SQLITE_IOERR_DIR_FSYNC'].includes(codeOf(error));
}

function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : '';
}

function heldTooLong(cause: unknown): ParleyError {
  return new ParleyError('overloaded', {
    message: 'Another program holds the database of this server. Wait, then try again.',
    retryAfterSeconds: 1,
    cause,
  });
}
