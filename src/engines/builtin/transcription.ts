/**
 * Transcription without a network, in worker threads: one decodes the file and cuts it into utterances, others
 * recognise them. All run at once with backpressure, so memory does not grow with the audio.
 */

import type {
  TranscriptionEngine,
  TranscriptionEvent,
  TranscriptionRequest,
  TranscriptSegment,
} from '../../core/entities/engine.ts';
import { ParleyError } from '../../core/values/errors.ts';
import { interruptible, type OwnSignal } from '../../core/values/signal.ts';
import { decodedSampleRate } from '../../media/decoding/decoder.ts';
import { detectContainer } from '../../media/formats/file-format.ts';
import { hasMoonshine, missingHearing } from '../../media/hearing-files.ts';
import { hearingModule } from '../../media/wasm-instance.ts';
import { shareOf } from '../../threads/pool.ts';
import type { Owned } from '../engine-set.ts';
import { createFilePool, type FileCut, type FilePool } from '../recordings/file-pool.ts';
import { type RecognisedWord, toSegments } from '../recordings/transcript.ts';
import type { Utterance } from '../recordings/utterances.ts';
import { uploadSpeaker } from '../upload-speaker.ts';
import { createMoonshine } from './moonshine/recogniser.ts';
import { createPocketsphinx } from './pocketsphinx/index.ts';
import type { Recogniser } from './recogniser.ts';

export interface BuiltinTranscriptionOptions {
  /** Recogniser threads of all requests together, at least 1. Each uses a core, and 100 MB or with Moonshine 250. */
  readonly recognisers: number;
  /**
   * Requests that may wait while `recognisers` others run. One account may take half of them. More are refused with
   * `overloaded`.
   */
  readonly queueMax: number;
}

/** About the time of an utterance or two. */
const retryAfterSeconds = 5;
/** The models know only English, whatever the request's hint. */
const language = 'english';

/** Threads start at first use. If files of the modules are missing, `availability` names them. */
export function createBuiltinTranscription(options: BuiltinTranscriptionOptions): Owned<TranscriptionEngine> {
  const { recognisers, queueMax } = options;
  const files = createFilePool(recognisers + queueMax);
  const [moonshine, pocketsphinx] = [createMoonshine(recognisers), createPocketsphinx(recognisers)];
  // Set-up may provide Moonshine while the server runs.
  const recogniser = () => (hasMoonshine() ? moonshine : pocketsphinx);
  const work: SharedWork = { files, recogniser, options, requests: new Set() };
  const engine: Owned<TranscriptionEngine> = {
    availability: () => {
      const reason = missingHearing();
      return reason === undefined ? { available: true } : { available: false, reason };
    },
    reportsSpeakers: false,
    openSpeaker: () => recogniser().openSpeaker?.() ?? uploadSpeaker(engine),
    transcribe: (request) => interruptible(request.signal, (stop) => run(work, request, stop)),
    waiting: () => Math.max(0, work.requests.size - recognisers),
    async close() {
      for (const active of work.requests) active.abort(new ParleyError('overloaded'));
      await Promise.all([files.close(), moonshine.close(), pocketsphinx.close()]);
    },
  };
  return engine;
}

interface SharedWork {
  readonly files: FilePool;
  recogniser(): Recogniser;
  readonly options: BuiltinTranscriptionOptions;
  /** Running and waiting requests, with their owners. */
  readonly requests: Set<OwnSignal>;
}

async function* run(
  work: SharedWork,
  request: TranscriptionRequest,
  stop: OwnSignal,
): AsyncGenerator<TranscriptionEvent, void, void> {
  const missing = missingHearing();
  if (missing !== undefined) throw new ParleyError('engine_unavailable', { message: missing });
  const container = detectContainer(request.audio, request.fileName);
  if (isFullFor(work, stop.owner))
    throw new ParleyError('overloaded', { retryAfterSeconds, hasNotRun: true });
  work.requests.add(stop);
  stop.addEventListener('abort', () => work.requests.delete(stop));
  const module = await hearingModule('decoder');
  stop.throwIfAborted();
  const file = { module, bytes: new Uint8Array(request.audio), container };
  const hearing: Hearing = {
    recognise: await work.recogniser().openFile(stop),
    aheadMax: 2 * work.options.recognisers,
  };
  yield* recognise(work.files.cuts(file, stop), hearing);
}

function isFullFor({ requests, options }: SharedWork, owner: string | undefined): boolean {
  const { recognisers, queueMax } = options;
  if (requests.size >= recognisers + queueMax) return true;
  if (owner === undefined) return false;
  const own = [...requests].filter((each) => each.owner === owner);
  return own.length >= recognisers + shareOf(queueMax);
}

interface Hearing {
  recognise(utterance: Utterance): Promise<readonly RecognisedWord[]>;
  /** Decoding pauses while this many utterances wait to be sent. */
  readonly aheadMax: number;
}

async function* recognise(
  cuts: AsyncIterable<FileCut>,
  hearing: Hearing,
): AsyncGenerator<TranscriptionEvent, void, void> {
  const ahead: PendingSegments[] = [];
  let decodedMs = 0;
  let sentMs = 0;
  for await (const { sampleCount, utterance, countedMs = 0 } of cuts) {
    decodedMs = Math.round((sampleCount * 1000) / decodedSampleRate);
    if (utterance !== undefined) ahead.push(startRecognition(utterance, hearing));
    const durationMs = Math.max(decodedMs, countedMs);
    if (durationMs > sentMs) {
      sentMs = durationMs;
      yield { kind: 'audio', durationMs };
    }
    while (ahead.length > hearing.aheadMax || ahead[0]?.isSettled()) yield* nextSegments(ahead);
  }
  while (ahead.length > 0) yield* nextSegments(ahead);
  yield { kind: 'done', durationMs: decodedMs, language };
}

interface PendingSegments {
  readonly segments: Promise<readonly TranscriptSegment[]>;
  isSettled(): boolean;
}

function startRecognition(utterance: Utterance, hearing: Hearing): PendingSegments {
  let isSettled = false;
  const segments = hearing.recognise(utterance).then((words) => toSegments(utterance, words));
  const settle = () => {
    isSettled = true;
  };
  // A failure is thrown when the segments are awaited; until then it must not be an unhandled rejection.
  segments.then(settle, settle);
  return { segments, isSettled: () => isSettled };
}

async function* nextSegments(ahead: PendingSegments[]): AsyncGenerator<TranscriptionEvent, void, void> {
  for (const segment of (await ahead.shift()?.segments) ?? []) yield { kind: 'segment', segment };
}
