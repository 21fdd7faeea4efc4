/** Times and speakers that an answer needs. Not every model reports them. */
import type {
  CreateTranscriptionRequest,
  Transcript,
} from '../../../gen/parley/audio/v1/transcription_pb.ts';
import { ParleyError } from '../values/errors.ts';

interface TranscriptNeeds {
  /** The parameter that asks for segment times; undefined if none does. */
  readonly segments: 'response_format' | 'timestamp_granularities' | undefined;
  readonly words: boolean;
  /** The parameter that asks for speakers; undefined if none does. */
  readonly speakers: 'response_format' | 'speakers' | 'known_speaker_names' | undefined;
}

/**
 * @param answerForm the form of the answer over REST, undefined over RPC. `srt` and `vtt` need segment times; only
 * `verbose_json` shows word times, and it does without segment times, as SDKs request them by habit. Over RPC a client
 * that requests times needs them
 */
export function needsOf(
  { timestampGranularities: named, speakers: wantsSpeakers, knownSpeakerNames }: CreateTranscriptionRequest,
  answerForm: string | undefined,
): TranscriptNeeds {
  const param = answerForm === undefined ? 'speakers' : 'response_format';
  const speakers = wantsSpeakers ? param : knownSpeakerNames.length > 0 ? 'known_speaker_names' : undefined;
  if (answerForm === undefined) {
    const segments = named.includes('segment') ? 'timestamp_granularities' : undefined;
    return { segments, words: named.includes('word'), speakers };
  }
  const isSubtitles = answerForm === 'srt' || answerForm === 'vtt';
  return {
    segments: isSubtitles ? 'response_format' : undefined,
    words: answerForm === 'verbose_json' && named.includes('word'),
    speakers,
  };
}

/** Whether an answer over RPC has no segments, as the request names the times of words alone. */
export function isWordsAlone(
  { timestampGranularities: named }: CreateTranscriptionRequest,
  answerForm: string | undefined,
): boolean {
  return answerForm === undefined && named.includes('word') && !named.includes('segment');
}

const noTimes = {
  response_format:
    'The transcription model reports no times, which `srt` and `vtt` need. Use `json`, `text` or `verbose_json`.',
  timestamp_granularities: 'The transcription model reports no times. Leave out `timestamp_granularities`.',
} as const;
const noWords =
  'The transcription model reports no times of words. Leave `word` out of `timestamp_granularities`.';

const noSpeakers = 'The transcription model identifies no speakers.';

/** Refuses a request for speakers before it runs, if the model identifies none. */
export function refuseWithoutSpeakers({ speakers: param }: TranscriptNeeds): void {
  if (param === undefined) return;
  const isFormat = param === 'response_format';
  throw new ParleyError(isFormat ? 'unsupported_response_format' : 'invalid_input', {
    message: `${noSpeakers} ${isFormat ? 'Use another format than `diarized_json`' : `Leave out \`${param}\``}.`,
    param,
  });
}

/** Refuses a request for times of words before it runs, if the model reports none. */
export function refuseWords({ words }: TranscriptNeeds): void {
  if (words) throw new ParleyError('invalid_input', { message: noWords, param: 'timestamp_granularities' });
}

/** Refuses a request for times before it runs, if the model reports none. */
export function refuseWithoutTimes(needs: TranscriptNeeds): void {
  const { segments: param } = needs;
  if (param !== undefined) {
    const code = param === 'response_format' ? 'unsupported_response_format' : 'invalid_input';
    throw new ParleyError(code, { message: noTimes[param], param });
  }
  refuseWords(needs);
}

/** Refuses in the client's terms if only the engine, which is another server, knows what its model does not report. */
export async function* refusedAs<T>(needs: TranscriptNeeds, events: AsyncIterable<T>): AsyncGenerator<T> {
  try {
    yield* events;
  } catch (error) {
    const param = error instanceof ParleyError ? error.param : undefined;
    if (param === 'timestamp_granularities') refuseWithoutTimes(needs);
    if (param === 'speakers' || param === 'known_speaker_names') refuseWithoutSpeakers(needs);
    throw error;
  }
}

/** @throws `upstream_error` if the model omitted required times or speakers; silence has none */
export function checkNeeds({ text, segments, words }: Transcript, needs: TranscriptNeeds): void {
  if (text === '') return;
  if (needs.segments !== undefined && segments.length === 0)
    throw new ParleyError('upstream_error', { message: noTimes[needs.segments], param: needs.segments });
  const isUnnamed = segments.length === 0 || segments.some(({ speaker }) => speaker === undefined);
  if (needs.speakers !== undefined && isUnnamed)
    throw new ParleyError('upstream_error', { message: noSpeakers });
  if (needs.words && words.length === 0) throw new ParleyError('upstream_error', { message: noWords });
}
