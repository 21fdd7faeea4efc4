/** Times that an answer needs; not every model gives them. */
import type {
  CreateTranscriptionRequest,
  Transcript,
} from '../../../gen/parley/audio/v1/transcription_pb.ts';
import { ParleyError } from '../values/errors.ts';

interface TranscriptNeeds {
  /** The parameter that asks for the times of segments; undefined if none does. */
  readonly segments: 'response_format' | 'timestamp_granularities' | undefined;
  /** Times of words. */
  readonly words: boolean;
}

/**
 * @param answerForm the form that the client gets over REST, undefined over RPC: `srt` and `vtt` need the times of segments, and only
 *   `verbose_json` shows the times of words. `verbose_json` does without segments, which SDKs ask for by habit; over RPC a client
 *   that names them needs them
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
    'The transcription model tells no times, which `srt` and `vtt` need. Ask for `json`, `text` or `verbose_json`.',
  timestamp_granularities: 'The transcription model tells no times. Leave out `timestamp_granularities`.',
} as const;
const noWords =
  'The transcription model tells no times of words. Leave `word` out of `timestamp_granularities`.';

/** Refuses a request for times from a model that gives none, before it runs. */
export function refuseWithoutTimes({ segments: param, words }: TranscriptNeeds): void {
  if (param !== undefined) {
    const code = param === 'response_format' ? 'unsupported_response_format' : 'invalid_input';
    throw new ParleyError(code, { message: noTimes[param], param });
  }
  if (words) {
    throw new ParleyError('invalid_input', { message: noWords, param: 'timestamp_granularities' });
  }
}

/** Refuses in the client's terms where the engine, being another server, is the first to know that its model gives no times. */
export async function* refusedAs<T>(needs: TranscriptNeeds, events: AsyncIterable<T>): AsyncGenerator<T> {
  try {
    yield* events;
  } catch (error) {
    if (error instanceof ParleyError && error.param === 'timestamp_granularities') refuseWithoutTimes(needs);
    throw error;
  }
}

/** @throws `upstream_error` if the model left out times that are needed; silence has none */
export function checkTimes({ text, segments, words }: Transcript, needs: TranscriptNeeds): void {
  if (text === '') return;
  if (needs.segments !== undefined && segments.length === 0)
    throw new ParleyError('upstream_error', { message: noTimes[needs.segments], param: needs.segments });
  if (needs.words && words.length === 0) throw new ParleyError('upstream_error', { message: noWords });
}
