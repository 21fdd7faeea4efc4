/** The entry of the writer thread, which has the only writing connection. */
import { receiveMessageOnPort, workerData } from 'node:worker_threads';
import Sqlite from 'better-sqlite3';
import { prepareToWrite } from '../database/connection.ts';
import { OpenFiles } from '../database/data-folder.ts';
import { BatchRunner } from './batch-runner.ts';
import type { WriterSettings } from './messages.ts';

/** How long a batch waits for another writing program. */
const busyMsMax = 5_000;

const { path, files, batches: port, sent }: WriterSettings = workerData;
const connection = new Sqlite(path, { fileMustExist: true, timeout: busyMsMax });
prepareToWrite(connection);
const batches = new BatchRunner(connection, new OpenFiles(files));
let received = 0;
const next = () => {
  // The thread sleeps here, as waking its event loop takes longer and costs both threads more.
  Atomics.wait(sent, 0, received++);
  return receiveMessageOnPort(port)?.message;
};
for (let batch = next(); batch !== 'close'; batch = next()) port.postMessage(batches.run(batch));
batches.close();
port.close();
