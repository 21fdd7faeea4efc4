/** The writer thread: batches, their durability, and failures of one job or of the database. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Sqlite from 'better-sqlite3';
import { sql } from 'kysely';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type Job, step } from '../../../src/store/sql/job.ts';
import { statement } from '../../../src/store/sql/statement.ts';
import type { Connection } from '../../../src/store/sqlite/database/connection.ts';
import { OpenFiles } from '../../../src/store/sqlite/database/data-folder.ts';
import { openDatabase } from '../../../src/store/sqlite/database/open-database.ts';
import { WriteHealth } from '../../../src/store/sqlite/database/write-health.ts';
import type { Batch, BatchOutcome } from '../../../src/store/sqlite/writer/messages.ts';
import { type BatchExecutor, Writer, WriterThread } from '../../../src/store/sqlite/writer/writer.ts';

const insert = statement(
  (p: { id: number; value: number }) => sql`insert into t values (${p.id}, ${p.value})`,
);
const remove = statement((p: { id: number }) => sql`delete from t where id = ${p.id}`);
const add = statement(
  (p: { more: bigint; id: string }) => sql`update t set value = value + ${p.more} where id = ${p.id}`,
);
const find = statement((p: { id: number }) => sql`select value from t where id = ${p.id}`);

const inserting = (id: number, value = 0): Job => ({ steps: [step(insert, { id, value })] });
const adding = (id: number, ...amounts: bigint[]): Job => ({
  steps: [],
  additions: amounts.map((amount) => ({ statement: add, amounts: [amount], row: [String(id)] })),
});

let dataDir: string;
let connection: Connection;
/** Another program on the same database. */
let other: Connection;
let writer: Writer;
let thread: CountingExecutor;
let told: unknown[];

/** Counts the batches of an executor, and can answer in its place. */
class CountingExecutor implements BatchExecutor {
  readonly #executor: BatchExecutor;
  batches: Batch[] = [];
  instead: BatchOutcome | undefined;

  constructor(executor: BatchExecutor) {
    this.#executor = executor;
  }

  async run(batch: Batch): Promise<BatchOutcome> {
    this.batches.push(batch);
    return this.instead ?? this.#executor.run(batch);
  }

  close(): Promise<void> {
    return this.#executor.close();
  }
}

beforeEach(async () => {
  dataDir = mkdtempSync(join(tmpdir(), 'parley-writer-'));
  connection = await openDatabase(dataDir);
  connection.exec(
    'create table t (id integer primary key, value integer not null check (value >= 0)) strict',
  );
  other = new Sqlite(connection.name);
  told = [];
  const files = new OpenFiles();
  files.add(connection.name);
  const lost = (what: string, error: unknown) => void told.push(what, error);
  thread = new CountingExecutor(
    new WriterThread({ path: connection.name, files: files.ids }, (error) => lost('thread', error)),
  );
  const observer = {
    failing: (trouble: string) => void told.push(trouble),
    working: () => void told.push('works'),
    lost,
  };
  const health = new WriteHealth({ files, observer, probe: async () => undefined });
  writer = new Writer(thread, health);
});
afterEach(async () => {
  other.close();
  await writer.close();
  connection.close();
  rmSync(dataDir, { recursive: true });
});

const rows = () => other.prepare('select id, value from t').raw().all();

describe('the writer', () => {
  it('has written a job, visibly for all, when it resolves', async () => {
    await writer.run(inserting(1, 5));
    expect(rows()).toEqual([[1, 5]]);
    expect(await writer.run({ steps: [step(find, { id: 1 })] })).toEqual([{ row: { value: 5 } }]);
  });

  it('writes the jobs of one turn, and those that come during a batch, in one transaction each', async () => {
    const first = [1, 2, 3].map((id) => writer.run(inserting(id)));
    await new Promise(setImmediate);
    const second = [4, 5].map((id) => writer.run(inserting(id)));
    await Promise.all([...first, ...second]);
    expect(thread.batches.map(({ groups }) => groups.map(({ jobs }) => jobs.length))).toEqual([[3], [2]]);
    expect(thread.batches.map(({ texts }) => texts.length)).toEqual([1, 0]);
  });

  it('keeps the jobs of a batch apart: one that fails does not fail the others', async () => {
    const results = await Promise.allSettled([
      writer.run(inserting(1)),
      writer.run({ steps: [step(insert, { id: 2, value: 0 }), step(remove, { id: 9 }, 'fail')] }),
      writer.run({ ...adding(1, 1n, -3n), steps: inserting(3).steps }),
      writer.run({ steps: [step(remove, { id: 9 }, 'stop'), step(insert, { id: 4, value: 0 })] }),
      writer.run(inserting(5)),
    ]);
    expect(results.map(({ status }) => status)).toEqual([
      ...['fulfilled', 'rejected', 'rejected', 'fulfilled', 'fulfilled'],
    ]);
    expect(rows()).toEqual([
      [1, 0],
      [5, 0],
    ]);
  });

  it('adds up the additions to a row, and writes the sum once', async () => {
    await writer.run(inserting(1, 10));
    // If they were applied one by one, the value would be negative in between.
    await Promise.all([writer.run(adding(1, -15n)), writer.run(adding(1, 7n, 1n))]);
    expect(rows()).toEqual([[1, 3]]);
    await expect(writer.run(adding(2, 1n))).rejects.toThrow('no row to add to');
  });

  it('waits for another program that writes, without blocking the process', async () => {
    other.exec('begin immediate');
    const written = [1, 2].map((id) => writer.run(inserting(id)).then(() => id));
    const free = new Promise((resolve) => setTimeout(resolve, 50)).then(() => 'the process is free');
    expect(await Promise.race([...written, free])).toBe('the process is free');
    other.exec('rollback');
    expect(await Promise.all(written)).toEqual([1, 2]);
  });

  it('rejects all jobs of a batch if the database stays locked, and recovers later', async () => {
    other.exec('begin immediate');
    const refused = await Promise.allSettled([writer.run(inserting(1)), writer.run(inserting(2))]);
    for (const outcome of refused) {
      expect(outcome).toMatchObject({ reason: { code: 'overloaded', retryAfterSeconds: 2 } });
    }
    other.exec('rollback');
    await writer.run(inserting(3));
    expect(rows()).toEqual([[3, 0]]);
    expect(told).toEqual(['locked', 'works']);
  }, 60_000);

  it('ends the process if a constraint refuses a write that the rules in memory allowed', async () => {
    await writer.run(inserting(1));
    await expect(writer.run(adding(1, -1n))).rejects.toThrow('CHECK');
    expect(told).toEqual(['The books in memory are not those of the database.', expect.any(Error)]);
  });

  it('ends the process after a failed sync, and counts nothing of the batch as written', async () => {
    thread.instead = { failure: { message: 'disk I/O error', code: 'SQLITE_IOERR_FSYNC' } };
    await expect(writer.run(inserting(1))).rejects.toMatchObject({ code: 'overloaded' });
    expect(told).toEqual(['The disk could not be synced.', expect.any(Error), 'unwritable']);
  });

  it('reports a thread that dies', async () => {
    const settings = { path: join(dataDir, 'missing.db'), files: new Map() };
    const died = new Promise((resolve) => new WriterThread(settings, resolve));
    expect(await died).toMatchObject({ message: expect.stringContaining('unable to open database file') });
  });
});
