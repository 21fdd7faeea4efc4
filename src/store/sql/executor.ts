import type { Page, PageRequest } from '../../core/values/parameters.ts';
import type { Job, JobResult } from './job.ts';
import type { Statement } from './statement.ts';

/** Runs queries that read. @throws `overloaded` while the database cannot be read */
export interface Queries {
  /** The value of the first row. */
  get<Parameters extends object, Value>(
    statement: Statement<Parameters, Value>,
    parameters: Parameters,
  ): Promise<Value | undefined>;
  all<Parameters extends object, Value>(
    statement: Statement<Parameters, Value>,
    parameters: Parameters,
  ): Promise<Value[]>;
}

/** Reads and writes of rare operations. */
export interface Executor extends Queries {
  /** Writes a job, durable when it resolves. @throws the error of the job, which has then changed nothing */
  run(job: Job): Promise<JobResult>;
  /** Reads the state of one moment. Later writes are neither seen nor blocked. */
  readSnapshot<T>(read: (snapshot: Queries) => Promise<T>): Promise<T>;
}

/** The same executor, which calls `written` after each job. */
export function reporting(executor: Executor, written: () => void): Executor {
  return {
    ...executor,
    async run(job) {
      const result = await executor.run(job);
      written();
      return result;
    },
  };
}

/** Reads one row more than the page has, to find out whether another page follows. */
export async function pageOf<T extends { readonly id: Id }, Id extends string>(
  page: PageRequest,
  read: (request: PageRequest) => Promise<T[]>,
): Promise<Page<T, Id>> {
  const rows = await read({ ...page, size: page.size + 1 });
  const items = rows.slice(0, page.size);
  return { items, nextAfter: rows.length > page.size ? items.at(-1)?.id : undefined };
}
