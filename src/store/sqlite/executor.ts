import Sqlite from 'better-sqlite3';
import type { Executor, Queries } from '../sql/executor.ts';
import type { Job, JobResult } from '../sql/job.ts';
import type { Statement } from '../sql/statement.ts';
import { queriesOn, type Reader } from './database/reader.ts';
import { forCaller, unusable } from './database/storage-failures.ts';
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

/**
 * Reads the state of one moment. Later writes are neither seen nor blocked.
 * @param path of the database, opened on another connection
 * @throws `overloaded` if the database cannot be read
 */
async function readSnapshot<T>(path: string, read: (snapshot: Queries) => Promise<T>): Promise<T> {
  const connection = open(path);
  try {
    connection.defaultSafeIntegers(true);
    connection.exec('begin');
    return await read(queriesOn(connection));
  } catch (error) {
    throw forCaller(error);
  } finally {
    connection.close();
  }
}

/** The driver reports a missing folder by another error. */
function open(path: string): Sqlite.Database {
  try {
    return new Sqlite(path, { readonly: true, fileMustExist: true });
  } catch (error) {
    throw unusable(error);
  }
}
