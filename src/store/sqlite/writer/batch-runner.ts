import type { Statement } from 'better-sqlite3';
import type { Step, StepResult } from '../../sql/job.ts';
import type { Connection } from '../database/connection.ts';
import type { OpenFiles } from '../database/data-folder.ts';
import { DatabaseMovedError, isStorageFailure } from '../database/storage-failures.ts';
import type { Batch, BatchOutcome, WireAddition, WireError, WireGroup, WireResult } from './messages.ts';

interface Prepared {
  readonly statement: Statement<unknown[]>;
  /** The number of its values. */
  readonly values: number;
}

/** Writes batches of jobs, each batch in one transaction, so that its jobs share one sync to disk. */
export class BatchRunner {
  readonly #connection: Connection;
  readonly #statements = new Map<number, Prepared>();
  readonly #transaction: (run: () => WireResult[]) => WireResult[];
  readonly #savepoint: (run: () => WireResult[]) => WireResult[];

  constructor(connection: Connection, files: OpenFiles) {
    this.#connection = connection;
    this.#transaction = connection.transaction((run: () => WireResult[]) => {
      const results = run();
      if (!files.areInPlace()) throw new DatabaseMovedError();
      return results;
    }).immediate;
    // A transaction within a transaction is a savepoint.
    this.#savepoint = connection.transaction((run: () => WireResult[]) => run());
  }

  /** Durable when it returns results. Does not throw. */
  run({ texts, groups }: Batch): BatchOutcome {
    try {
      for (const { statement, sql, values } of texts) {
        this.#statements.set(statement, { statement: this.#connection.prepare(sql), values });
      }
      const [only] = groups;
      const write = groups.length === 1 && only ? this.#write(only) : this.#writeApart(groups);
      return { results: this.#transaction(write) };
    } catch (error) {
      return { failure: toWire(error) };
    }
  }

  close(): void {
    this.#connection.close();
  }

  readonly #write = (group: WireGroup) => (): WireResult[] => {
    const results = this.#runJobs(group);
    this.#add(group.additions);
    return results;
  };

  readonly #writeApart = (groups: readonly WireGroup[]) => (): WireResult[] =>
    groups.flatMap((group) => this.#attempt(group));

  #attempt(group: WireGroup): WireResult[] {
    try {
      return this.#savepoint(this.#write(group));
    } catch (error) {
      // Errors such as a full disk end the whole transaction.
      if (!this.#connection.inTransaction || isStorageFailure(error)) throw error;
      return group.jobs.map(() => ({ error: toWire(error) }));
    }
  }

  #runJobs({ jobs, statements, ifUnchanged, values }: WireGroup): WireResult[] {
    let [step, value] = [0, 0];
    return jobs.map((steps) => {
      const job = new RunningJob();
      for (const end = step + steps; step < end; step++) {
        const prepared = this.#prepared(statements[step]);
        const rest = value + prepared.values;
        if (!job.isOver) job.run(prepared, values.slice(value, rest), ifUnchanged[step]);
        value = rest;
      }
      return job.results;
    });
  }

  #add(additions: readonly WireAddition[]): void {
    for (const [number, amounts, row] of additions) {
      const { statement } = this.#prepared(number);
      const { changes } = statement.run(...amounts, ...row);
      if (changes !== 1) throw new Error(`no row to add to: ${statement.source}`);
    }
  }

  #prepared(number = Number.NaN): Prepared {
    const prepared = this.#statements.get(number);
    if (prepared === undefined) throw new Error(`there is no statement ${number}`);
    return prepared;
  }
}

/** The results of a job so far. */
class RunningJob {
  /** Undefined while each step had to change a row. */
  results: StepResult[] | undefined;
  /** Whether its other steps are skipped. */
  isOver = false;

  run({ statement }: Prepared, values: readonly unknown[], ifUnchanged: Step['ifUnchanged']): void {
    // Single arguments are bound in less time than an array.
    const result: StepResult = statement.reader
      ? { row: statement.get(...values) }
      : { changes: statement.run(...values).changes };
    const isUnchanged = 'changes' in result && result.changes === 0;
    if (isUnchanged && ifUnchanged === 'fail') throw new Error(`nothing changed: ${statement.source}`);
    if (ifUnchanged !== 'fail') {
      this.results ??= [];
      this.results.push(result);
    }
    this.isOver = isUnchanged && ifUnchanged === 'stop';
  }
}

function toWire(error: unknown): WireError {
  if (!(error instanceof Error)) return { message: String(error), code: undefined };
  return { message: error.message, code: 'code' in error ? String(error.code) : undefined };
}
