/** Messages between the store and its writer thread. Arrays are copied faster than objects. */
import type { Step, StepResult } from '../../sql/job.ts';

/** A statement by its number, values, and what happens if nothing changes. */
export type WireStep = readonly [
  statement: number,
  values: readonly unknown[],
  ifUnchanged: Step['ifUnchanged'],
];

export type WireAddition = readonly [statement: number, amounts: readonly bigint[], row: readonly string[]];

/** Jobs that are written together, or not at all: the steps of each, and the additions of all, one for each row. */
export interface WireGroup {
  readonly jobs: readonly (readonly WireStep[])[];
  readonly additions: readonly WireAddition[];
}

/** Is written in one transaction. The failure of its only group is that of the batch; several groups fail apart. */
export interface Batch {
  /** Texts of statements that were not sent before, and their numbers. */
  readonly texts: readonly (readonly [statement: number, sql: string])[];
  readonly groups: readonly WireGroup[];
}

/** An error of the database, as it can be copied between threads. */
export interface WireError {
  readonly message: string;
  readonly code: string | undefined;
}

/** The result of one job. Undefined if all of its steps had to change something, and did. */
export type WireResult = readonly StepResult[] | { readonly error: WireError } | undefined;

export type BatchOutcome = { readonly results: readonly WireResult[] } | { readonly failure: WireError };

export interface WriterSettings {
  readonly path: string;
  /** The files of the database, as `OpenFiles.ids`. */
  readonly files: ReadonlyMap<string, string>;
}
