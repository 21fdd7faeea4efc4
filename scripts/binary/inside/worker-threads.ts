/** `node:worker_threads` for the executable: an entry is the name of a bundle inside, not a file. */
import { getAsset } from 'node:sea';
import { Worker as FileWorker, type WorkerOptions } from 'node:worker_threads';

export { isMainThread, parentPort, workerData } from 'node:worker_threads';

export class Worker extends FileWorker {
  /** @param entry as `siblingWorker` gives it; only its last name counts, as the build makes sure that there is one of each */
  constructor(entry: URL, options: WorkerOptions = {}) {
    const bundle = entry.pathname.replace(/^.*\/|\.js$/g, '');
    super(`${getAsset('boot.js', 'utf8')}\nboot.boot(${JSON.stringify(bundle)});`, {
      ...options,
      eval: true,
    });
  }
}
