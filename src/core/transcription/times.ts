/** What the form of an answer cannot do without: times, which not every model tells. */
import type {
  CreateTranscriptionRequest,
  Transcript,
} from '../../../gen/parley/audio/v1/transcription_pb.ts';
import { ParleyError } from '../errors.ts';

export interface TranscriptNeeds {
  /** Times of segments, as subtitles need them. */
  readonly segments: boolean;
  /** Times of words. */
  readonly words: boolean;
}

/** Of an answer that carries the transcript as it is: segments are in it where they are known, words as asked for. */
export function needsOf({ timestampGranularities }: CreateTranscriptionRequest): TranscriptNeeds {
  return { segments: false, words: timestampGranularities.includes('word') };
}

const noSegments =
  'The transcription model tells no times, which `srt` and `vtt` need. Ask for `json`, `text` or `verbose_json`.';
const noWords =
  'The transcription model tells no times of words. Leave `word` out of `timestamp_granularities`.';

/** Refuses what a model that tells no times cannot give, before anything is run. */
export function refuseWithoutTimes({ segments, words }: TranscriptNeeds): void {
  if (segments) {
    throw new ParleyError('unsupported_response_format', { message: noSegments, param: 'response_format' });
  }
  if (words) {
    throw new ParleyError('invalid_input', { message: noWords, param: 'timestamp_granularities' });
  }
}

/**
 * Of a model that should tell times, whether it did. Silence has none.
 * @throws `upstream_error`
 */
export function checkTimes({ text, segments, words }: Transcript, needs: TranscriptNeeds): void {
  if (text === '') return;
  if (needs.segments && segments.length === 0)
    throw new ParleyError('upstream_error', { message: noSegments });
  if (needs.words && words.length === 0) throw new ParleyError('upstream_error', { message: noWords });
}
