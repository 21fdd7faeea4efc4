import type { StepResult } from '../../job.ts';
import type { Connection } from '../connection.ts';
import type { OpenFiles } from '../data-folder.ts';
import { DatabaseMovedError, isStorageFailure } from '../storage-failures.ts';
import type { Batch, BatchOutcome, WireAddition, WireError, WireJob, WireResult } from './messages.ts';

type Prepared = ReturnType<Connection['prepare']>;

/**
 * Writes batches of jobs, each batch in one transaction, so that its jobs share one sync to disk. A job is written whole or not at all:
 * if one fails, the batch is rolled back and run again with a savepoint for each.
 */
export class BatchRunner {
  readonly #connection: Connection;
  readonly #statements = new Map<number, Prepared>();
  readonly #transaction: (run: () => WireResult[]) => WireResult[];
  readonly #savepoint: (job: () => WireResult) => WireResult;

  constructor(connection: Connection, files: OpenFiles) {
    this.#connection = connection;
    this.#transaction = connection.transaction((run: () => WireResult[]) => {
      const results = run();
      if (!files.areInPlace()) throw new DatabaseMovedError();
      return results;
    }).immediate;
    // A transaction within a transaction is a savepoint.
    this.#savepoint = connection.transaction((job: () => WireResult) => job());
  }

  /** Durable when it returns results. Does not throw. */
  run({ texts, jobs }: Batch): BatchOutcome {
    try {
      for (const [number, sql] of texts) this.#statements.set(number, this.#connection.prepare(sql));
      return { results: this.#write(jobs) };
    } catch (error) {
      return { failure: toWire(error) };
    }
  }

  close(): void {
    this.#connection.close();
  }

  /** Tries without savepoints first: jobs rarely fail, and savepoints cost a fifth of the time. */
  #write(jobs: readonly WireJob[]): WireResult[] {
    try {
      return this.#transaction(() => {
        const results = jobs.map(([steps]) => this.#runSteps(steps));
        this.#add(jobs.flatMap(([, additions = []]) => additions));
        return results;
      });
    } catch (error) {
      if (isStorageFailure(error)) throw error;
      return this.#transaction(() => jobs.map((job) => this.#attempt(job)));
    }
  }

  #attempt([steps, additions = []]: WireJob): WireResult {
    try {
      return this.#savepoint(() => {
        const result = this.#runSteps(steps);
        this.#add(additions);
        return result;
      });
    } catch (error) {
      // Errors such as a full disk end the whole transaction.
      if (!this.#connection.inTransaction || isStorageFailure(error)) throw error;
      return { error: toWire(error) };
    }
  }

  #runSteps(steps: WireJob[0]): StepResult[] | undefined {
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
    for (const [number, amounts, row] of summedUp(additions)) {
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

/** One addition for each row, in the order of their first. */
function summedUp(additions: readonly WireAddition[]): readonly WireAddition[] {
  if (additions.length < 2) return additions;
  const sums = new Map<string, WireAddition>();
  for (const addition of additions) {
    const [number, amounts, row] = addition;
    const key = `${number} ${row.join(' ')}`;
    const sum = sums.get(key);
    sums.set(key, sum ? [number, amounts.map((amount, n) => amount + (sum[1][n] ?? 0n)), row] : addition);
  }
  return [...sums.values()];
}

function toWire(error: unknown): WireError {
  if (!(error instanceof Error)) return { message: String(error), code: undefined };
  return { message: error.message, code: 'code' in error ? String(error.code) : undefined };
}
