import type { Executor, Queries } from '../sql/executor.ts';
import type { Job, JobResult } from '../sql/job.ts';
import type { Statement } from '../sql/statement.ts';
import type { Reader } from './database/reader.ts';
import { readSnapshot } from './database/snapshot.ts';
import type { Writer } from './writer/writer.ts';

interface SqliteExecutorDeps {
  readonly reader: Reader;
  readonly writer: Writer;
  /** The path of the database. */
  readonly path: string;
}

export class SqliteExecutor implements Executor {
  readonly #deps: SqliteExecutorDeps;

  constructor(deps: SqliteExecutorDeps) {
    this.#deps = deps;
  }

  async get<Parameters extends object, Value>(
    statement: Statement<Parameters, Value>,
    parameters: Parameters,
  ): Promise<Value | undefined> {
    return this.#deps.reader.get(statement, parameters);
  }

  async all<Parameters extends object, Value>(
    statement: Statement<Parameters, Value>,
    parameters: Parameters,
  ): Promise<Value[]> {
    return this.#deps.reader.all(statement, parameters);
  }

  run(job: Job): Promise<JobResult> {
    return this.#deps.writer.run(job);
  }

  readSnapshot<T>(read: (snapshot: Queries) => Promise<T>): Promise<T> {
    return readSnapshot(this.#deps.path, read);
  }
}
