import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import Sqlite from 'better-sqlite3';
import { databaseName, prepareToWrite } from '../../src/store/sqlite/database/connection.ts';
import { OpenFiles } from '../../src/store/sqlite/database/data-folder.ts';
import { openDatabase } from '../../src/store/sqlite/database/open-database.ts';
import { BatchRunner } from '../../src/store/sqlite/writer/batch-runner.ts';
import type { Batch } from '../../src/store/sqlite/writer/messages.ts';
import { type BatchExecutor, WriterThread } from '../../src/store/sqlite/writer/writer.ts';
import { inFolder } from '../harness/folder.ts';
import { notesOnDisk } from '../harness/machine.ts';
import type { Fact, Group, GroupResult, Setting } from '../harness/result.ts';
import { quantile } from '../harness/statistics.ts';

/** The pause of one client between its answer and its next request. */
const pauseMs = 2;
const record = 'r'.repeat(163);

export const writer: Group = {
  name: 'writer',
  title: 'The writer thread',
  method:
    `One row of ${record.length} bytes in a transaction, every ${pauseMs} ms: by the writer thread, less the time of the same transaction in ` +
    'the calling thread.',
  charts: [],
  run: (setting) => inFolder((folder) => measure(folder, setting)),
};

async function measure(folder: string, { short, quick }: Setting): Promise<GroupResult> {
  const owner = await openDatabase(folder);
  owner.exec('create table bench (record text) strict');
  const path = join(folder, databaseName);
  const files = new OpenFiles();
  for (const file of [path, `${path}-wal`]) files.add(file);
  const connection = new Sqlite(path);
  prepareToWrite(connection);
  const runner = new BatchRunner(connection, files);
  const thread = new WriterThread({ path, files: files.ids }, (error) => {
    throw error;
  });
  const here = { run: async (batch: Batch) => runner.run(batch), close: async () => runner.close() };
  for (const executor of [here, thread]) await write(executor, true);
  const trips: number[] = [];
  for (let round = 0; round < (short ? 1 : quick ? 8 : 12); round++) {
    const [inThread, inPlace] = await timesOf([thread, here], short);
    trips.push(quantile(inThread, 0.5) - quantile(inPlace, 0.5));
  }
  await thread.close();
  runner.close();
  owner.close();
  const trip: Fact = { name: 'there and back', unit: 'ms p50', values: trips, aim: 'writerTrip' };
  return { comparisons: [], facts: [trip], notes: notesOnDisk() };
}

/** The times of both in turn, so that they see the same moments of the disk. */
async function timesOf(executors: readonly [BatchExecutor, BatchExecutor], short: boolean) {
  const times: [number[], number[]] = [[], []];
  for (let n = 0; n < (short ? 8 : 400); n++) {
    await sleep(pauseMs);
    const at = n % 2 === 0 ? 0 : 1;
    const startedAt = performance.now();
    await write(executors[at], false);
    times[at].push(performance.now() - startedAt);
  }
  return times;
}

async function write(executor: BatchExecutor, isFirst: boolean): Promise<void> {
  const texts = isFirst ? [{ statement: 0, sql: 'insert into bench values (?)', values: 1 }] : [];
  const group = { jobs: [1], statements: [0], ifUnchanged: [undefined], values: [record], additions: [] };
  const outcome = await executor.run({ texts, groups: [group] });
  if ('failure' in outcome) throw new Error(outcome.failure.message);
}
