/** Replaces `node:worker_threads` in the executable: an entry names a bundle, not a file. */
import { getAsset } from 'node:sea';
import { Worker as FileWorker, type WorkerOptions } from 'node:worker_threads';

export {
  isMainThread,
  MessageChannel,
  parentPort,
  receiveMessageOnPort,
  threadId,
  workerData,
} from 'node:worker_threads';

export class Worker extends FileWorker {
  /** @param entry from `siblingWorker`; only the file name counts, which the build keeps unique */
  constructor(entry: URL, options: WorkerOptions = {}) {
    const bundle = entry.pathname.replace(/^.*\/|\.js$/g, '');
    super(`${getAsset('boot.js', 'utf8')}\nboot.boot(${JSON.stringify(bundle)});`, {
      ...options,
      eval: true,
    });
  }
}
