/** Times that an answer needs. Not every model reports them. */
import type {
  CreateTranscriptionRequest,
  Transcript,
} from '../../../gen/parley/audio/v1/transcription_pb.ts';
import { ParleyError } from '../values/errors.ts';

interface TranscriptNeeds {
  /** The parameter that asks for segment times; undefined if none does. */
  readonly segments: 'response_format' | 'timestamp_granularities' | undefined;
  /** Times of words. */
  readonly words: boolean;
}

/**
 * @param answerForm the form of the answer over REST, undefined over RPC. `srt` and `vtt` need segment times; only
 * `verbose_json` shows word times, and it does without segment times, as SDKs request them by habit. Over RPC a client
 * that requests times needs them
 */
export function needsOf(
  { timestampGranularities: named }: CreateTranscriptionRequest,
  answerForm: string | undefined,
): TranscriptNeeds {
  if (answerForm === undefined) {
    const segments = named.includes('segment') ? 'timestamp_granularities' : undefined;
    return { segments, words: named.includes('word') };
  }
  const isSubtitles = answerForm === 'srt' || answerForm === 'vtt';
  return {
    segments: isSubtitles ? 'response_format' : undefined,
    words: answerForm === 'verbose_json' && named.includes('word'),
  };
}

const noTimes = {
  response_format:
    'The transcription model reports no times, which `srt` and `vtt` need. Use `json`, `text` or `verbose_json`.',
  timestamp_granularities: 'The transcription model reports no times. Leave out `timestamp_granularities`.',
} as const;
const noWords =
  'The transcription model reports no times of words. Leave `word` out of `timestamp_granularities`.';

/** Refuses a request for times before it runs, if the model reports none. */
export function refuseWithoutTimes({ segments: param, words }: TranscriptNeeds): void {
  if (param !== undefined) {
    const code = param === 'response_format' ? 'unsupported_response_format' : 'invalid_input';
    throw new ParleyError(code, { message: noTimes[param], param });
  }
  if (words) {
    throw new ParleyError('invalid_input', { message: noWords, param: 'timestamp_granularities' });
  }
}

/** Refuses in the client's terms if only the engine, which is another server, knows that its model reports no times. */
export async function* refusedAs<T>(needs: TranscriptNeeds, events: AsyncIterable<T>): AsyncGenerator<T> {
  try {
    yield* events;
  } catch (error) {
    if (error instanceof ParleyError && error.param === 'timestamp_granularities') refuseWithoutTimes(needs);
    throw error;
  }
}

/** @throws `upstream_error` if the model omitted required times; silence has none */
export function checkTimes({ text, segments, words }: Transcript, needs: TranscriptNeeds): void {
  if (text === '') return;
  if (needs.segments !== undefined && segments.length === 0)
    throw new ParleyError('upstream_error', { message: noTimes[needs.segments], param: needs.segments });
  if (needs.words && words.length === 0) throw new ParleyError('upstream_error', { message: noWords });
}
