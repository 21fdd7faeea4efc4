/**
 * Transcription without a network: ffmpeg decodes, `cutAtSilences` cuts the recording into utterances, and pocketsphinx
 * recognises them. All three run at once with backpressure, so memory does not depend on the length of the audio.
 */
import { randomUUID } from 'node:crypto';
import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { ParleyError, toParleyError } from '../../core/errors.ts';
import type {
  TranscriptionEngine,
  TranscriptionEvent,
  TranscriptionRequest,
  TranscriptSegment,
} from '../../core/ports/engines.ts';
import { makeFolder } from '../../files/make-folder.ts';
import { decodedSampleRate, decodeToPcm } from '../../media/decoding/decode.ts';
import { detectContainer } from '../../media/probing/file-format.ts';
import type { Owned } from '../engine-set.ts';
import { findInstallation, type Installation } from './pocketsphinx/installation.ts';
import { createRecogniserPool, type Lane, type RecogniserPool } from './pocketsphinx/pool.ts';
import { startRecogniser } from './pocketsphinx/recogniser.ts';
import { toSegments } from './pocketsphinx/transcript.ts';
import { type CutAudio, cutAtSilences, type Utterance } from './pocketsphinx/utterances.ts';

export interface BuiltinTranscriptionOptions {
  /** Recogniser processes of all requests together, at least 1. Each uses a core and about 140 MB. */
  readonly children: number;
  /** Requests that may wait while `children` others run. More are refused with `overloaded`. */
  readonly queueMax: number;
  /** For temporary files. Created if missing; files are readable by this user only and always removed. */
  readonly scratchDir: string;
  /** A longer request ends with `overloaded`. Default: 10 minutes. */
  readonly requestMsMax?: number;
  /** Folders to search for the English model. Default: where packages install it. */
  readonly modelFolders?: readonly string[];
}

const requestMsMaxDefault = 10 * 60_000;
/** About the time of an utterance or two. */
const retryAfterSeconds = 5;
/** The model knows only English, whatever the request's hint. */
const language = 'english';

/** Looks up the programs now; if one is missing, `availability` names it. */
export function createBuiltinTranscription(options: BuiltinTranscriptionOptions): Owned<TranscriptionEngine> {
  const lookup = findInstallation(options.modelFolders);
  if (lookup.installation === undefined) return unavailableEngine(lookup.reason);
  const { installation } = lookup;
  const pool = createRecogniserPool(options.children, () =>
    startRecogniser(installation, options.scratchDir),
  );
  const work: SharedWork = { installation, pool, options, requests: new Set() };
  return {
    availability: () => ({ available: true }),
    transcribe: (request) => ({ [Symbol.asyncIterator]: () => transcribe(work, request) }),
    waiting: () => Math.max(0, work.requests.size - options.children),
    async close() {
      for (const active of work.requests) active.abort(new ParleyError('overloaded'));
      await pool.close();
    },
  };
}

function unavailableEngine(reason: string): Owned<TranscriptionEngine> {
  return {
    availability: () => ({ available: false, reason }),
    transcribe: () => {
      throw new ParleyError('engine_unavailable', { message: reason });
    },
    waiting: () => 0,
    close: async () => {},
  };
}

interface SharedWork {
  readonly installation: Installation;
  readonly pool: RecogniserPool;
  readonly options: BuiltinTranscriptionOptions;
  /** One for each request that runs or waits. */
  readonly requests: Set<AbortController>;
}

/**
 * The events of one request. Its work stops and its files are removed as soon as it is done, fails, runs out of time, its
 * signal aborts or its reader returns, even while the reader waits for an event.
 */
function transcribe(
  work: SharedWork,
  request: TranscriptionRequest,
): AsyncIterator<TranscriptionEvent, void, void> {
  const stop = new AbortController();
  const events = run(work, request, stop);
  return {
    next: () => events.next(),
    return: () => {
      stop.abort(new ParleyError('request_cancelled'));
      return events.return();
    },
  };
}

async function* run(
  work: SharedWork,
  request: TranscriptionRequest,
  stop: AbortController,
): AsyncGenerator<TranscriptionEvent, void, void> {
  const container = detectContainer(request.audio, request.fileName);
  admit(work, request.signal, stop);
  try {
    stop.signal.throwIfAborted();
    yield* withUpload(work, request.audio, stop.signal, (path) => {
      let statedMs = 0;
      const blocks = decodeToPcm(path, {
        tools: work.installation.decodeTools,
        container,
        signal: stop.signal,
        onStatedDuration: (durationMs) => {
          statedMs = durationMs;
        },
      });
      return recognise(cutAtSilences(blocks), work.pool.openLane(stop.signal), {
        aheadMax: 2 * work.options.children,
        statedMs: () => statedMs,
      });
    });
  } catch (error) {
    throw toParleyError(stop.signal.aborted ? stop.signal.reason : error);
  } finally {
    stop.abort(new ParleyError('request_cancelled'));
  }
}

/** Reads from a file with the upload, which is removed at the end, or earlier if the signal aborts. */
async function* withUpload<T>(
  { options: { scratchDir } }: SharedWork,
  audio: Uint8Array,
  signal: AbortSignal,
  read: (path: string) => AsyncGenerator<T, void, void>,
): AsyncGenerator<T, void, void> {
  makeFolder(scratchDir, 0o700);
  const path = join(scratchDir, `parley-${randomUUID()}.upload`);
  const remove = () => rm(path, { force: true });
  // A failure shows at the end, which removes the file again.
  signal.addEventListener('abort', () => void remove().catch(() => undefined), { once: true });
  try {
    await writeFile(path, audio, { mode: 0o600, flag: 'wx' });
    yield* read(path);
  } finally {
    await remove();
  }
}

/** Counts the request until `stop` aborts, as it does at the end of every request. @throws `overloaded` when full */
function admit(work: SharedWork, signal: AbortSignal, stop: AbortController): void {
  const { children, queueMax, requestMsMax = requestMsMaxDefault } = work.options;
  if (work.requests.size >= children + queueMax) {
    throw new ParleyError('overloaded', { retryAfterSeconds, hasNotRun: true });
  }
  work.requests.add(stop);
  const leave = () => stop.abort(new ParleyError('request_cancelled'));
  const timer = setTimeout(
    () => stop.abort(new ParleyError('overloaded', { retryAfterSeconds })),
    requestMsMax,
  );
  const discharge = () => {
    work.requests.delete(stop);
    clearTimeout(timer);
    signal.removeEventListener('abort', leave);
  };
  stop.signal.addEventListener('abort', discharge, { once: true });
  signal.addEventListener('abort', leave, { once: true });
  if (signal.aborted) leave();
}

interface RecognitionOptions {
  /** Decoding waits while this many utterances are cut and not yet sent. */
  readonly aheadMax: number;
  /** The duration that the container states; 0 while unknown. */
  statedMs(): number;
}

async function* recognise(
  cuts: AsyncIterable<CutAudio>,
  lane: Lane,
  options: RecognitionOptions,
): AsyncGenerator<TranscriptionEvent, void, void> {
  const ahead: PendingSegments[] = [];
  let decodedMs = 0;
  let sentMs = 0;
  for await (const { sampleCount, utterance } of cuts) {
    decodedMs = Math.round((sampleCount * 1000) / decodedSampleRate);
    if (utterance !== undefined) ahead.push(startRecognition(utterance, lane));
    const durationMs = Math.max(decodedMs, options.statedMs());
    if (durationMs > sentMs) {
      sentMs = durationMs;
      yield { kind: 'audio', durationMs };
    }
    while (ahead.length > options.aheadMax || ahead[0]?.isSettled()) yield* nextSegments(ahead);
  }
  while (ahead.length > 0) yield* nextSegments(ahead);
  yield { kind: 'done', durationMs: decodedMs, language };
}

interface PendingSegments {
  readonly segments: Promise<readonly TranscriptSegment[]>;
  isSettled(): boolean;
}

function startRecognition(utterance: Utterance, lane: Lane): PendingSegments {
  let isSettled = false;
  const segments = lane.recognise(utterance.samples).then((words) => toSegments(utterance, words));
  const settle = () => {
    isSettled = true;
  };
  // A failure is thrown when the segments are awaited; until then it must not count as unhandled.
  segments.then(settle, settle);
  return { segments, isSettled: () => isSettled };
}

async function* nextSegments(ahead: PendingSegments[]): AsyncGenerator<TranscriptionEvent, void, void> {
  for (const segment of (await ahead.shift()?.segments) ?? []) yield { kind: 'segment', segment };
}
