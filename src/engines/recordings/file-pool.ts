/** Worker threads that decode files: one for each. */

import { ParleyError } from '../../core/values/errors.ts';
import type { Signal } from '../../core/values/signal.ts';
import { decodedSampleRate } from '../../media/decoding/decoder.ts';
import { unsupported } from '../../media/formats/file-format.ts';
import { createThreadPool, siblingWorker, type ThreadPool } from '../../threads/pool.ts';
import type { CutResult, CutTask } from './utterance-worker.ts';
import type { CutAudio } from './utterances.ts';

export interface FileCut extends CutAudio {
  /** Milliseconds of the whole file, counted by its packets. */
  readonly countedMs: number | undefined;
}

export interface FilePool {
  /**
   * The utterances of a file in order. Moves the file's bytes to a thread, and decodes on as they are read. An early
   * end or an abort ends the thread.
   * @throws `invalid_file` if far less can be read than the file states, `unsupported_file_format` for an unknown codec
   */
  cuts(file: NonNullable<CutTask['open']>, signal: Signal): AsyncGenerator<FileCut, void, void>;
  /** Ends all threads. */
  close(): Promise<void>;
}

/** A decoder that produces no half minute of audio within this CPU time counts as hung. */
const cutCpuMsMax = 30_000;

/** @param filesMax open files */
export function createFilePool(filesMax: number): FilePool {
  // Each file has its own thread, so that a hostile file can only end that one.
  const files = createThreadPool<CutTask, CutResult>({
    entry: siblingWorker(import.meta.url, 'utterance-worker'),
    threads: filesMax,
    taskCpuMsMax: cutCpuMsMax,
    abortEndsThread: true,
  });
  return { cuts: (file, signal) => cutsOf(files, file, signal), close: () => files.close() };
}

async function* cutsOf(
  files: ThreadPool<CutTask, CutResult>,
  file: NonNullable<CutTask['open']>,
  signal: Signal,
): AsyncGenerator<FileCut, void, void> {
  signal.throwIfAborted();
  const session = files.openSession();
  const close = () => session.close();
  signal.addEventListener('abort', close, { once: true });
  let sampleCount = 0;
  try {
    let result = await session.run({ open: file }, [file.bytes.buffer]);
    for (; result.cut !== undefined; result = await session.run({})) {
      ({ sampleCount } = result.cut);
      if (sampleCount > 0) yield { ...result.cut, countedMs: result.length.countedMs };
    }
    if (result.undecodable !== undefined) throw unsupported(`audio of the codec ${result.undecodable}`);
    if (sampleCount === 0) throw unreadable(result.failure);
    refuseFragment((sampleCount * 1000) / decodedSampleRate, result.length.statedMs);
  } finally {
    signal.removeEventListener('abort', close);
    close();
  }
}

/** A file that ends early is transcribed up to there, unless less than this share of it can be read. */
const readableShareMin = 0.4;
/** The delay of an encoder, which files state as audio, is shorter. */
const missingMsMin = 1_000;

function refuseFragment(decodedMs: number, statedMs = 0): void {
  if (decodedMs >= readableShareMin * statedMs || statedMs - decodedMs < missingMsMin) return;
  const [decoded, stated] = [decodedMs, statedMs].map((ms) => (ms / 1000).toFixed(1));
  throw new ParleyError('invalid_file', {
    message: `The file states ${stated} s of audio, but only ${decoded} s could be read. Send the whole file, or convert it to WAV or MP3.`,
    param: 'file',
  });
}

function unreadable(failure = 'the file has no samples'): ParleyError {
  return new ParleyError('invalid_file', {
    message: 'No audio could be read from the file. Check that it plays, or convert it to WAV or MP3.',
    param: 'file',
    cause: new Error(failure),
  });
}
