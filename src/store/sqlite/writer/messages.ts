/** Messages between the store and its writer thread. Arrays are copied faster than objects. */
import type { Step, StepResult } from '../../job.ts';

/** A statement by its number, values, and what happens if nothing changes. */
export type WireStep = readonly [
  statement: number,
  values: readonly unknown[],
  ifUnchanged: Step['ifUnchanged'],
];

export type WireAddition = readonly [statement: number, amounts: readonly bigint[], row: readonly string[]];

export type WireJob = readonly [steps: readonly WireStep[], additions: readonly WireAddition[] | undefined];

export interface Batch {
  /** Texts of statements that were not sent before, and their numbers. */
  readonly texts: readonly (readonly [statement: number, sql: string])[];
  readonly jobs: readonly WireJob[];
}

/** An error of the database, as it can be copied between threads. */
export interface WireError {
  readonly message: string;
  readonly code: string | undefined;
}

/** Undefined for a job all of whose steps had to change something, and did. */
export type WireResult = readonly StepResult[] | { readonly error: WireError } | undefined;

export type BatchOutcome = { readonly results: readonly WireResult[] } | { readonly failure: WireError };

export interface WriterSettings {
  readonly path: string;
  /** The files of the database, as `OpenFiles.ids`. */
  readonly files: ReadonlyMap<string, string>;
}
