/** Times that an answer needs; not every model gives them. */
import type {
  CreateTranscriptionRequest,
  Transcript,
} from '../../../gen/parley/audio/v1/transcription_pb.ts';
import { ParleyError } from '../errors.ts';

interface TranscriptNeeds {
  /** Times of segments, as subtitles need them. */
  readonly segments: boolean;
  /** Times of words. */
  readonly words: boolean;
}

/**
 * @param answerForm the form that the client gets: `srt` and `vtt` need the times of segments, and only `verbose_json` and a whole
 *   transcript (undefined) show the times of words
 */
export function needsOf(
  { timestampGranularities }: CreateTranscriptionRequest,
  answerForm: string | undefined,
): TranscriptNeeds {
  const showsWords = answerForm === undefined || answerForm === 'verbose_json';
  return {
    segments: answerForm === 'srt' || answerForm === 'vtt',
    words: showsWords && timestampGranularities.includes('word'),
  };
}

const noSegments =
  'The transcription model tells no times, which `srt` and `vtt` need. Ask for `json`, `text` or `verbose_json`.';
const noWords =
  'The transcription model tells no times of words. Leave `word` out of `timestamp_granularities`.';

/** Refuses a request for times from a model that gives none, before it runs. */
export function refuseWithoutTimes({ segments, words }: TranscriptNeeds): void {
  if (segments) {
    throw new ParleyError('unsupported_response_format', { message: noSegments, param: 'response_format' });
  }
  if (words) {
    throw new ParleyError('invalid_input', { message: noWords, param: 'timestamp_granularities' });
  }
}

/** @throws `upstream_error` if the model left out times that are needed; silence has none */
export function checkTimes({ text, segments, words }: Transcript, needs: TranscriptNeeds): void {
  if (text === '') return;
  if (needs.segments && segments.length === 0)
    throw new ParleyError('upstream_error', { message: noSegments });
  if (needs.words && words.length === 0) throw new ParleyError('upstream_error', { message: noWords });
}
