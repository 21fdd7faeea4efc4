/** The entry of the thread that copies a database, as SQLite copies in one statement that blocks its thread. */
import { workerData } from 'node:worker_threads';
import Sqlite from 'better-sqlite3';

interface Copy {
  readonly path: string;
  readonly target: string;
  /** How long the copy waits for a writing program. */
  readonly busyMs: number;
}

const { path, target, busyMs }: Copy = workerData;
const source = new Sqlite(path, { readonly: true, fileMustExist: true, timeout: busyMs });
try {
  // One statement reads one moment. SQLite's backup API is not faster, and also copies free pages.
  source.prepare('vacuum into ?').run(target);
} finally {
  source.close();
}
