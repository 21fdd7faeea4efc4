/** The threads of Moonshine, for files and for live speech: each takes up to 250 MB while it has work. */
import { createThreadPool, siblingWorker } from '../../../threads/pool.ts';
import type { RecognisedWord } from '../../recordings/transcript.ts';
import type { Recogniser } from '../recogniser.ts';
import { LiveTurns } from './live-turns.ts';
import type { MoonshineTask } from './moonshine-worker.ts';

/** An idle thread ends after this time and frees its memory. */
const idleMs = 20_000;
/** Recognition of the longest turn takes 30 s. With more CPU time it counts as hung. */
const cpuMsMax = 200_000;

/** The memory of a thread, and its share of what the process may use. */
const threadBytes = 250 * 1024 ** 2;
const memoryShare = 1 / 4;

/** @param threadsMax fewer run where memory is short */
export function createMoonshine(threadsMax: number): Recogniser {
  const threadsInMemory = Math.floor((process.availableMemory() * memoryShare) / threadBytes);
  const threads = Math.max(1, Math.min(threadsMax, threadsInMemory));
  const pool = createThreadPool<MoonshineTask, readonly RecognisedWord[]>({
    entry: siblingWorker(import.meta.url, 'moonshine-worker'),
    threads,
    taskCpuMsMax: cpuMsMax,
    idleMs,
    abortEndsThread: true,
  });
  const turns = new LiveTurns(pool, threads);
  return {
    async openFile(signal, owner) {
      const group = pool.enter(signal, { owner });
      return ({ samples }) => group.run({ samples }, [samples.buffer]);
    },
    openSpeaker: () => turns.openSpeaker(),
    close: () => pool.close(),
  };
}
