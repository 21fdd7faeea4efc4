import type { Queries } from '../sql/executor.ts';
import type { Row, Table } from './tables.ts';

/** The copy cannot be made, or is not exact. The message is for the person who runs it. */
export class CopyError extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'CopyError';
  }
}

/** One of the two databases of a copy. Nobody else uses it, and the copy is one transaction. */
export interface Side extends Queries {
  /** For messages; without the password of a URL. */
  readonly name: string;
  insert(table: Table, rows: readonly Row[]): Promise<void>;
  /** How the database stores a text. PostgreSQL cannot store zero bytes. */
  kept(text: string): string;
  /** Whole sentences; empty if the books are exact. */
  faults(): Promise<readonly string[]>;
  /** Makes the inserted rows durable, and the database ready for a server. */
  commit(): Promise<void>;
  /** Without a commit before, nothing has changed. */
  close(): Promise<void>;
}
