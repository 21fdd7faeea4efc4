import type { Statement } from './statement.ts';

/** A statement of a job, with its parameters. */
export interface Step {
  readonly statement: Statement<never, unknown>;
  /** By their names; on SQLite also their values in the order of the text. */
  readonly parameters: object;
  /** Effect if it changes no row: continue, skip the rest of the job, or fail the job. Default: continue. */
  readonly ifUnchanged?: 'stop' | 'fail';
}

/** Amounts to add to the columns of one row. */
export interface Addition {
  /** The parameters are the amounts, then the key of the row. The statement must change one row. */
  readonly statement: Statement<never, unknown>;
  readonly amounts: readonly bigint[];
  readonly row: readonly string[];
  /** The words of `row` in one, if they are known. */
  readonly name?: string;
}

/** Statements that are written together, or not at all. */
export interface Job {
  readonly steps: readonly Step[];
  /** Runs after the steps. Additions of a batch to the same row are added up and written once. */
  readonly additions?: readonly Addition[];
  /** Waits until no other process runs such a job. Default: false */
  readonly isExclusive?: boolean;
}

/** The number of rows that a step changed, or the row that it found. */
export type StepResult = { readonly changes: number } | { readonly row: unknown };

export type JobResult = readonly StepResult[];

export function step<Parameters extends object>(
  statement: Statement<Parameters, unknown>,
  parameters: Parameters,
  ifUnchanged?: Step['ifUnchanged'],
): Step {
  return { statement, parameters, ...(ifUnchanged && { ifUnchanged }) };
}

/** Whether the first step of a job has changed a row. */
export function hasChanged([first]: JobResult): boolean {
  return first !== undefined && 'changes' in first && first.changes > 0;
}

/** The row that a step has found. @typeParam Row the row that the statement selects */
export function rowOf<Row>(result: StepResult | undefined): Row | undefined {
  return result && 'row' in result ? (result.row as Row | undefined) : undefined;
}
