/** The entry of the writer thread, which has the only writing connection. */
import { parentPort, workerData } from 'node:worker_threads';
import Sqlite from 'better-sqlite3';
import { prepareToWrite } from '../database/connection.ts';
import { OpenFiles } from '../database/data-folder.ts';
import { BatchRunner } from './batch-runner.ts';
import type { Batch, WriterSettings } from './messages.ts';

/** How long a batch waits for another writing program. */
const busyMsMax = 5_000;

const { path, files }: WriterSettings = workerData;
const connection = new Sqlite(path, { fileMustExist: true, timeout: busyMsMax });
prepareToWrite(connection);
const batches = new BatchRunner(connection, new OpenFiles(files));
parentPort?.on('message', (batch: Batch | 'close') => {
  if (batch !== 'close') {
    parentPort?.postMessage(batches.run(batch));
    return;
  }
  batches.close();
  parentPort?.close();
});
