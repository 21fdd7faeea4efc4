/** The threads of pocketsphinx. A turn of live speech is a file. */
import { hearingModule } from '../../../media/wasm-instance.ts';
import { createThreadPool, siblingWorker } from '../../../threads/pool.ts';
import type { RecognisedWord } from '../../recordings/transcript.ts';
import type { Recogniser } from '../recogniser.ts';
import type { RecognitionTask } from './recogniser-worker.ts';

/** An idle recogniser ends after this time and frees its memory. */
const idleMs = 30_000;
/** Recognition of the longest utterance takes 6 s. With more CPU time it counts as hung. */
const cpuMsMax = 200_000;

export function createPocketsphinx(threads: number): Recogniser {
  // A group is a file, a task an utterance.
  const pool = createThreadPool<RecognitionTask, readonly RecognisedWord[]>({
    entry: siblingWorker(import.meta.url, 'recogniser-worker'),
    threads,
    taskCpuMsMax: cpuMsMax,
    idleMs,
    abortEndsThread: true,
  });
  return {
    async openFile(signal) {
      const module = await hearingModule('recogniser');
      signal.throwIfAborted();
      const group = pool.enter(signal);
      return ({ samples }) => group.run({ module, samples }, [samples.buffer]);
    },
    close: () => pool.close(),
  };
}
