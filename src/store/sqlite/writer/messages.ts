/** Messages between the store and its writer thread. Flat arrays are copied in a third of the time of nested ones. */
import type { MessagePort } from 'node:worker_threads';
import type { Step, StepResult } from '../../sql/job.ts';

export type WireAddition = readonly [statement: number, amounts: readonly bigint[], row: readonly string[]];

/** Jobs that are written together or not at all: the steps of all jobs in order, and the additions of all, one per row. */
export interface WireGroup {
  /** The number of steps of each job. */
  readonly jobs: readonly number[];
  /** The statement of each step, by its number. */
  readonly statements: readonly number[];
  /** The effect of each step if it changes no row. */
  readonly ifUnchanged: readonly Step['ifUnchanged'][];
  /** The values of all steps. */
  readonly values: readonly unknown[];
  readonly additions: readonly WireAddition[];
}

/** A statement that was not sent before. */
export interface WireText {
  readonly statement: number;
  readonly sql: string;
  /** The number of its values. */
  readonly values: number;
}

/** Groups for one transaction. A single group fails with its batch; several groups fail separately. */
export interface Batch {
  readonly texts: readonly WireText[];
  readonly groups: readonly WireGroup[];
}

/** An error of the database in a form that can be copied between threads. */
export interface WireError {
  readonly message: string;
  readonly code: string | undefined;
}

/** The result of one job. Undefined if each of its steps had to change a row, and did. */
export type WireResult = readonly StepResult[] | { readonly error: WireError } | undefined;

export type BatchOutcome = { readonly results: readonly WireResult[] } | { readonly failure: WireError };

export interface WriterSettings {
  readonly path: string;
  /** Brings batches, then `close`, and takes outcomes. */
  readonly batches: MessagePort;
  /** The number of messages that were sent. A change wakes the thread. */
  readonly sent: Int32Array<SharedArrayBuffer>;
  /** The files of the database, from `OpenFiles.ids`. */
  readonly files: ReadonlyMap<string, string>;
}
