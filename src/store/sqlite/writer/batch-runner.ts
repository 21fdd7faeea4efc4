import type { StepResult } from '../../sql/job.ts';
import type { Connection } from '../database/connection.ts';
import type { OpenFiles } from '../database/data-folder.ts';
import { DatabaseMovedError, isStorageFailure } from '../database/storage-failures.ts';
import type {
  Batch,
  BatchOutcome,
  WireAddition,
  WireError,
  WireGroup,
  WireResult,
  WireStep,
} from './messages.ts';

type Prepared = ReturnType<Connection['prepare']>;

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
      for (const [number, sql] of texts) this.#statements.set(number, this.#connection.prepare(sql));
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

  readonly #write =
    ({ jobs, additions }: WireGroup) =>
    (): WireResult[] => {
      const results = jobs.map((steps) => this.#runSteps(steps));
      this.#add(additions);
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

  #runSteps(steps: readonly WireStep[]): StepResult[] | undefined {
    let results: StepResult[] | undefined;
    for (const [number, values, ifUnchanged] of steps) {
      const result = this.#run(number, values);
      const isUnchanged = 'changes' in result && result.changes === 0;
      if (isUnchanged && ifUnchanged === 'fail') throw new Error(`nothing changed: ${this.#sqlOf(number)}`);
      if (ifUnchanged !== 'fail') {
        results ??= [];
        results.push(result);
      }
      if (isUnchanged && ifUnchanged === 'stop') break;
    }
    return results;
  }

  #run(number: number, values: readonly unknown[]): StepResult {
    const statement = this.#statement(number);
    return statement.reader ? { row: statement.get(values) } : { changes: statement.run(values).changes };
  }

  #add(additions: readonly WireAddition[]): void {
    for (const [number, amounts, row] of additions) {
      const { changes } = this.#statement(number).run([...amounts, ...row]);
      if (changes !== 1) throw new Error(`no row to add to: ${this.#sqlOf(number)}`);
    }
  }

  #statement(number: number): Prepared {
    const statement = this.#statements.get(number);
    if (statement === undefined) throw new Error(`there is no statement ${number}`);
    return statement;
  }

  #sqlOf(number: number): string {
    return this.#statement(number).source;
  }
}

function toWire(error: unknown): WireError {
  if (!(error instanceof Error)) return { message: String(error), code: undefined };
  return { message: error.message, code: 'code' in error ? String(error.code) : undefined };
}
