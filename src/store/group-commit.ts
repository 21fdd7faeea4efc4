import type { Connection } from './database.ts';

interface Pending {
  readonly work: () => unknown;
  readonly resolve: (value: unknown) => void;
  readonly reject: (error: unknown) => void;
}

type Outcome = { readonly pending: Pending; readonly settle: () => void };

/**
 * Runs the writes of concurrent requests in one transaction, so that they share one sync to disk. Each is atomic by a
 * savepoint of its own, and its promise resolves only after the shared commit. The work must be synchronous.
 */
export class GroupCommit {
  readonly #connection: Connection;
  readonly #commitAll: (group: readonly Pending[]) => Outcome[];
  /** Within a transaction this is a savepoint. */
  readonly #atomically: (work: () => unknown) => unknown;
  #queue: Pending[] = [];
  #scheduled = false;

  constructor(connection: Connection) {
    this.#connection = connection;
    this.#commitAll = connection.transaction((group: readonly Pending[]) =>
      group.map((pending) => this.#attempt(pending)),
    ).immediate;
    this.#atomically = connection.transaction((work: () => unknown) => work());
  }

  /** Rejects with what the work throws, and then nothing of it is kept; or with the reason that the commit failed. */
  run<T>(work: () => T): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      this.#queue.push({ work, resolve: (value) => resolve(value as T), reject });
      if (this.#scheduled) return;
      this.#scheduled = true;
      setImmediate(() => this.#flush());
    });
  }

  /** Commits what waits now. */
  flush(): void {
    if (this.#queue.length > 0) this.#flush();
  }

  #flush(): void {
    const group = this.#queue;
    this.#queue = [];
    this.#scheduled = false;
    let outcomes: Outcome[];
    try {
      outcomes = this.#commitAll(group);
    } catch (error) {
      for (const { reject } of group) reject(error);
      return;
    }
    for (const { settle } of outcomes) settle();
  }

  #attempt(pending: Pending): Outcome {
    try {
      const value = this.#atomically(pending.work);
      return { pending, settle: () => pending.resolve(value) };
    } catch (error) {
      // SQLite ends the whole transaction on errors such as a full disk: then none of the group is kept.
      if (!this.#connection.inTransaction) throw error;
      return { pending, settle: () => pending.reject(error) };
    }
  }
}
