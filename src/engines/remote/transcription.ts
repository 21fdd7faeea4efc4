import { create } from '@bufbuild/protobuf';
import {
  type StreamTranscriptionRequest,
  StreamTranscriptionRequestSchema,
  type Transcript,
  type TranscriptSegment,
  type TranscriptWord,
} from '../../../gen/parley/audio/v1/transcription_pb.ts';
import { TranscriptionService } from '../../../gen/parley/audio/v1/transcription_service_pb.ts';
import type {
  TranscriptSegment as EngineSegment,
  TranscriptionEngine,
  TranscriptionEvent,
  TranscriptionRequest,
} from '../../core/entities/engine.ts';
import { ParleyError } from '../../core/values/errors.ts';
import { detectContainer } from '../../media/formats/file-format.ts';
import type { DurationProbe } from '../../media/probing/probe.ts';
import type { RemoteModel } from './catalog.ts';

/** @param probe the caller closes it */
export function createRemoteTranscription(model: RemoteModel, probe: DurationProbe): TranscriptionEngine {
  const { name, catalog } = model;
  return {
    availability: () => catalog.availability(name, 'transcription'),
    transcribe: (request) => transcribe(model, probe, request),
  };
}

/**
 * First the length by the file, as the remote reports it only at the end. Then segments as they are recognised; with
 * words, all segments at the end, as the remote sends words only with the whole transcript.
 */
async function* transcribe(
  { name, calls }: RemoteModel,
  probe: DurationProbe,
  request: TranscriptionRequest,
): AsyncGenerator<TranscriptionEvent, void, void> {
  const { words: withWords = false, signal } = request;
  let knownMs = (await probedMs(probe, request)) ?? 0;
  if (knownMs > 0) yield { kind: 'audio', durationMs: knownMs };
  const { streamTranscription } = TranscriptionService.method;
  for await (const { event } of calls.stream(streamTranscription, requestMessage(name, request), signal)) {
    if (event.case === 'segment' && !withWords) {
      const segment = toEngineSegment(event.value);
      if (segment.endMs > knownMs) {
        knownMs = segment.endMs;
        yield { kind: 'audio', durationMs: knownMs };
      }
      yield { kind: 'segment', segment };
    }
    if (event.case === 'transcript') yield* transcriptEvents(event.value, withWords);
  }
}

function* transcriptEvents(transcript: Transcript, withWords: boolean): Generator<TranscriptionEvent> {
  if (withWords) for (const segment of wordedSegments(transcript)) yield { kind: 'segment', segment };
  const { duration, language, text } = transcript;
  yield { kind: 'done', durationMs: toMs(duration), language, text };
}

/** Undefined if the file does not state it. The remote decides whether the file is audio. */
async function probedMs(
  probe: DurationProbe,
  { audio, fileName, signal }: TranscriptionRequest,
): Promise<number | undefined> {
  try {
    return await probe.durationMs(audio, detectContainer(audio, fileName), signal.owner);
  } catch (error) {
    if (error instanceof ParleyError) return undefined;
    throw error;
  }
}

function requestMessage(model: string, request: TranscriptionRequest): StreamTranscriptionRequest {
  const {
    audio,
    fileName,
    language,
    prompt,
    temperature,
    needsSegments,
    words,
    knownSpeakers = [],
  } = request;
  return create(StreamTranscriptionRequestSchema, {
    transcription: {
      model,
      file: audio,
      ...(fileName !== undefined && { fileName }),
      ...(language !== undefined && { language }),
      languages: [...(request.languages ?? [])],
      keywords: [...(request.keywords ?? [])],
      ...(prompt !== undefined && { prompt }),
      ...(temperature !== undefined && { temperature }),
      // The remote refuses these formats at once if its model gives no times. It sends segments anyway if it has them.
      timestampGranularities: [...(needsSegments ? ['segment'] : []), ...(words ? ['word'] : [])],
      ...(request.needsSpeakers && { speakers: true }),
      knownSpeakerNames: knownSpeakers.map(({ name }) => name),
      knownSpeakerReferences: knownSpeakers.map(({ reference }) => reference),
      ...(request.chunkingStrategy !== undefined && { chunkingStrategy: request.chunkingStrategy }),
    },
  });
}

/** Puts each word into the last segment that has begun by then. Both lists are in order of time. */
function wordedSegments({ segments, words }: Transcript): EngineSegment[] {
  let next = 0;
  return segments.map((segment, index) => {
    const first = next;
    const endsAt = segments[index + 1]?.start ?? Number.POSITIVE_INFINITY;
    while (isBefore(words[next], endsAt)) next++;
    return toEngineSegment(segment, words.slice(first, next));
  });
}

function isBefore(word: TranscriptWord | undefined, seconds: number): boolean {
  return word !== undefined && word.start < seconds;
}

function toEngineSegment(segment: TranscriptSegment, words: readonly TranscriptWord[] = []): EngineSegment {
  return {
    startMs: toMs(segment.start),
    endMs: toMs(segment.end),
    text: segment.text,
    words: words.map(({ word, start, end }) => ({ word, startMs: toMs(start), endMs: toMs(end) })),
    avgLogprob: segment.avgLogprob,
    speaker: segment.speaker,
    details: {
      seek: segment.seek,
      tokens: segment.tokens,
      temperature: segment.temperature,
      compressionRatio: segment.compressionRatio,
      noSpeechProb: segment.noSpeechProb,
    },
  };
}

/** Rounds to a thousandth of a millisecond, which hides the errors of floats. */
function toMs(seconds: number): number {
  return Math.round(seconds * 1e6) / 1e3;
}
