/** The thread that reads durations. A hostile file may keep it busy; the pool then ends it. */
import { serveTasks } from '../../threads/serve-tasks.ts';
import type { MediaContainer } from './file-format.ts';
import { readDurationMs } from './probe-file.ts';

export interface ProbeTask {
  readonly bytes: Uint8Array;
  readonly container: MediaContainer;
}

serveTasks({ run: ({ bytes, container }: ProbeTask) => readDurationMs(bytes, container) });
