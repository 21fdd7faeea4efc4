import { createThreadPool, siblingWorker } from '../../threads/pool.ts';
import type { MediaContainer } from '../formats/file-format.ts';
import { hearingModule } from '../wasm-instance.ts';
import type { ProbeTask } from './probe-worker.ts';

/** CPU time. A good file takes some milliseconds. */
const runCpuMsMax = 2_000;
/** Hostile files cannot delay a good one for longer. */
const totalMsMax = 5_000;

export interface DurationProbe {
  /**
   * Milliseconds of audio, more than 0, counted without decoding. Undefined if the file has none, counting takes
   * seconds, or the decoder is not installed. Never rejects.
   * @param owner the account that sent the file: accounts take turns
   */
  durationMs(
    bytes: Uint8Array,
    container: MediaContainer,
    owner?: string | undefined,
  ): Promise<number | undefined>;
  close(): Promise<void>;
}

/**
 * Probes one file after the other in a worker thread. A file that keeps the thread busy ends it; the next file gets a
 * new thread.
 * @param totalMs of a file, waiting and reading together
 */
export function createDurationProbe(totalMs = totalMsMax): DurationProbe {
  const pool = createThreadPool<ProbeTask, number | undefined>({
    entry: siblingWorker(import.meta.url, 'probe-worker'),
    threads: 1,
    taskCpuMsMax: runCpuMsMax,
    abortEndsThread: true,
  });
  return {
    async durationMs(bytes, container, owner) {
      const deadline = new AbortController();
      const timer = setTimeout(() => deadline.abort(), totalMs);
      try {
        const module = await hearingModule('decoder');
        const group = pool.enter(deadline.signal, { owner });
        // The bytes are copied when the thread takes them, so that waiting files use no memory.
        return await group.run({ module, bytes, container }).finally(() => group.leave());
      } catch {
        return undefined;
      } finally {
        clearTimeout(timer);
      }
    },
    close: () => pool.close(),
  };
}

/** About the lowest bitrates of speech in each container, in bits per second. */
const leastBitrates: Readonly<Record<MediaContainer, number>> = {
  flac: 64_000,
  mp3: 16_000,
  mp4: 16_000,
  mpeg: 32_000,
  ogg: 8_000,
  wav: 64_000,
  webm: 8_000,
};

/** The assumed milliseconds of a file of unknown duration: about the longest that its bytes can hold. */
export function assumedDurationMs(bytes: number, container: MediaContainer): number {
  return Math.ceil((bytes * 8000) / leastBitrates[container]);
}
