/** The entry of the writer thread, which has the only writing connection. */
import { receiveMessageOnPort, threadId, workerData } from 'node:worker_threads';
import Sqlite from 'better-sqlite3';
import { collectGarbage } from '../../../threads/collect-garbage.ts';
import { prepareToWrite } from '../database/connection.ts';
import { OpenFiles } from '../database/data-folder.ts';
import { BatchRunner } from './batch-runner.ts';
import type { Batch, WriterSettings } from './messages.ts';

/** How long a batch waits for another writing program. */
const busyMsMax = 5_000;

/** Then the event loop of the thread may do its own work. The build of the executable runs this code on the main thread. */
const sleepMsMax = threadId === 0 ? 0 : 1_000;

/** Then the thread frees the memory of its start, some 3 MB: before the server returns what is free. */
const settleMs = 1_000;

type Message = Batch | 'close';

const { path, files, batches: port, sent }: WriterSettings = workerData;
const connection = new Sqlite(path, { fileMustExist: true, timeout: busyMsMax });
prepareToWrite(connection);
const batches = new BatchRunner(connection, new OpenFiles(files));
let received = 0;
setTimeout(collectGarbage, settleMs).unref();
// Sleeps until the next batch, as waking the thread's event loop takes longer and costs both threads more.
port.on('message', (first: Message) => {
  for (let message: Message | undefined = first; message; message = receiveMessageOnPort(port)?.message) {
    received++;
    if (message === 'close') {
      batches.close();
      port.close();
      return;
    }
    port.postMessage(batches.run(message));
    Atomics.wait(sent, 0, received, sleepMsMax);
  }
});
