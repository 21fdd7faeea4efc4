import type { StoreObserver, StoreTrouble } from '../core/entities/store.ts';
import type { Log } from '../core/values/log.ts';

/** Reasons that /readyz shows to anyone. */
const reasons: Readonly<Record<StoreTrouble, string>> = {
  moved: 'The database is missing from the data folder.',
  locked: 'Another program locks the database.',
  unwritable: 'The database cannot be written.',
  unreachable: 'The database cannot be reached.',
};

const advice: Readonly<Record<StoreTrouble, string>> = {
  moved:
    'Restore the files that were removed from the data folder, moved or replaced, or restart the server to use the present ones.',
  locked: 'Find the program that has the database open, and end it.',
  unwritable: 'Free some space, or repair the disk. The error has details.',
  unreachable: 'Start it, or repair the network. The error has details.',
};

/** Whether load balancers should send requests: not while the server stops, nor while the store fails. */
export class Readiness implements StoreObserver {
  readonly #log: Log;
  readonly #dataDir: string;
  readonly #listeners: (() => void)[] = [];
  #trouble: StoreTrouble | undefined;
  #isStopping = false;

  constructor(log: Log, dataDir: string) {
    this.#log = log;
    this.#dataDir = dataDir;
  }

  /** Undefined when ready. */
  whyNot(): string | undefined {
    if (this.#isStopping) return 'The server is stopping.';
    return this.#trouble && reasons[this.#trouble];
  }

  get isStopping(): boolean {
    return this.#isStopping;
  }

  onChange(listener: () => void): void {
    this.#listeners.push(listener);
  }

  failing(trouble: StoreTrouble, cause: unknown): void {
    this.#trouble = trouble;
    this.#log.error(
      { err: cause, dataDir: this.#dataDir },
      `${reasons[trouble]} Requests get 503 until a write succeeds. ${advice[trouble]}`,
    );
    this.#notify();
  }

  working(): void {
    this.#trouble = undefined;
    this.#log.warn({ dataDir: this.#dataDir }, 'The database can be written again. Requests are served.');
    this.#notify();
  }

  lost(what: string, cause: unknown): void {
    setImmediate(() => {
      throw new Error(`${what} The server ends. Its next start reads the data on the disk.`, { cause });
    });
  }

  stop(): void {
    this.#isStopping = true;
    this.#notify();
  }

  #notify(): void {
    for (const listener of this.#listeners) listener();
  }
}
