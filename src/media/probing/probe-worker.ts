/** The thread that reads lengths: a file may keep it busy, and it is then ended from outside. */
import { parentPort } from 'node:worker_threads';
import type { MediaContainer } from './file-format.ts';
import { readDurationMs } from './probe-file.ts';

export interface ProbeJob {
  readonly bytes: Uint8Array;
  readonly container: MediaContainer;
}

parentPort?.on('message', async ({ bytes, container }: ProbeJob) => {
  parentPort?.postMessage(await readDurationMs(bytes, container));
});
