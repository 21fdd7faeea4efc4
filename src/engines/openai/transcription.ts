import type {
  TranscriptionEngine,
  TranscriptionEvent,
  TranscriptionRequest,
} from '../../core/ports/engines.ts';
import { assumedDurationMs } from '../../media/probing/assumed-duration.ts';
import { detectContainer, type MediaContainer } from '../../media/probing/file-format.ts';
import type { DurationProbe } from '../../media/probing/probe.ts';
import { languageName } from './language-name.ts';
import { type FormBody, type FormField, multipartForm } from './multipart-form.ts';
import type { OpenAiSettings } from './settings.ts';
import { readTranscript } from './transcript-reader.ts';
import type { Upstream } from './upstream.ts';

/** Room for hours of words with their times. */
const answerBytesMax = 16 * 1024 * 1024;
/** What a recording of unknown length has for sure: who has no allowance left at all is refused before it is run. */
const leastMs = 1;

export interface OpenAiTranscriptionDeps {
  readonly upstream: Upstream;
  /** The upstream's name of the model. */
  readonly model: string;
  readonly format: OpenAiSettings['transcriptionFormat'];
  readonly probe: DurationProbe;
}

/**
 * Transcription by an upstream, which gets the file as it is. Segments are told when the whole answer is there.
 *
 * The length of the audio is the longest of what its container and the upstream say. Where neither says anything it is taken
 * from the size of the file, so that audio is never billed at nothing.
 */
export function createOpenAiTranscription(deps: OpenAiTranscriptionDeps): TranscriptionEngine {
  return {
    availability: () => ({ available: true }),
    tellsTimes: deps.format === 'verbose_json',
    transcribe: (request) => transcribe(deps, request),
  };
}

async function* transcribe(
  deps: OpenAiTranscriptionDeps,
  request: TranscriptionRequest,
): AsyncGenerator<TranscriptionEvent, void, undefined> {
  const { audio, fileName, language, signal } = request;
  const container = detectContainer(audio, fileName);
  const probedMs = await deps.probe.durationMs(audio, container);
  yield { kind: 'audio', durationMs: probedMs ?? leastMs };
  const form = toForm(deps, request, container);
  const answer = await deps.upstream.call({
    method: 'POST',
    path: '/audio/transcriptions',
    headers: { ...form.headers, accept: 'application/json' },
    body: form.pieces,
    signal,
  });
  const transcript = readTranscript(await answer.json(answerBytesMax), probedMs);
  const { text, segments, reportedMs } = transcript;
  const knownMs = Math.max(probedMs ?? 0, reportedMs ?? 0);
  const durationMs = knownMs || assumedDurationMs(audio.length, container);
  // Before the first segment leaves, as the units of all of it must be had by then.
  yield { kind: 'audio', durationMs };
  for (const segment of segments) yield { kind: 'segment', segment };
  yield {
    kind: 'done',
    durationMs,
    language: transcript.language ?? languageName(language) ?? '',
    text,
  };
}

const contentTypes: Readonly<Record<MediaContainer, string>> = {
  flac: 'audio/flac',
  mp3: 'audio/mpeg',
  mp4: 'audio/mp4',
  mpeg: 'video/mpeg',
  ogg: 'audio/ogg',
  wav: 'audio/wav',
  webm: 'audio/webm',
};

/** Upstreams go by the extension of the name, so it is that of the content; the client's own name stays here. */
function toForm(
  { model, format }: OpenAiTranscriptionDeps,
  { audio, language, words }: TranscriptionRequest,
  container: MediaContainer,
): FormBody {
  const fields: FormField[] = [['model', model]];
  if (language !== undefined) fields.push(['language', language]);
  fields.push(['response_format', format]);
  if (format === 'verbose_json') fields.push(['timestamp_granularities[]', 'segment']);
  if (format === 'verbose_json' && words) fields.push(['timestamp_granularities[]', 'word']);
  return multipartForm(fields, {
    name: `audio.${container}`,
    contentType: contentTypes[container],
    bytes: audio,
  });
}
