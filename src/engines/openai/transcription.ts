import { randomBytes } from 'node:crypto';
import type {
  TranscriptionEngine,
  TranscriptionEvent,
  TranscriptionRequest,
} from '../../core/entities/engine.ts';
import { detectContainer, type MediaContainer } from '../../media/formats/file-format.ts';
import { assumedDurationMs, type DurationProbe } from '../../media/probing/probe.ts';
import { RelaySpeaker } from './realtime/speaker.ts';
import type { UpstreamModel } from './settings.ts';
import { languageName, readTranscript } from './transcription/transcript.ts';

/** Room for hours of words with their times. */
const answerBytesMax = 16 * 1024 * 1024;
/**
 * Reserved for audio of unknown length, so that an account without any allowance is refused before the upstream is
 * called.
 */
const durationMsMin = 1;

interface TranscriptionModel extends UpstreamModel {
  readonly probe: DurationProbe;
}

/**
 * Sends the file unchanged to an upstream. Segments arrive with the whole answer. The audio's length is the longer of
 * those that its container and the upstream state. If neither states one, the file's size gives an estimate, so that no
 * audio is free.
 */
export function createOpenAiTranscription(deps: TranscriptionModel): TranscriptionEngine {
  const { transcriptionFormat: format, realtime } = deps.settings;
  return {
    availability: () => ({ available: true }),
    reportsTimes: format !== 'json',
    reportsSpeakers: format && format === 'diarized_json',
    transcribe: (request) => transcribe(deps, request),
    // Otherwise the upstream gets each turn of live speech as a file.
    ...(realtime && { openSpeaker: () => new RelaySpeaker(deps) }),
  };
}

async function* transcribe(
  deps: TranscriptionModel,
  request: TranscriptionRequest,
): AsyncGenerator<TranscriptionEvent, void, undefined> {
  const { audio, fileName, language, signal } = request;
  const container = detectContainer(audio, fileName);
  const probedMs = await deps.probe.durationMs(audio, container, signal.owner);
  yield { kind: 'audio', durationMs: probedMs ?? durationMsMin };
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
  // Reported before the first segment, because all units must be reserved by then.
  yield { kind: 'audio', durationMs };
  for (const segment of segments) yield { kind: 'segment', segment };
  yield { kind: 'done', durationMs, language: transcript.language ?? languageName(language) ?? '', text };
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

/** Models that accept lists of languages and keywords, as another Parley does. Others refuse unknown parameters. */
const modelsWithLists = /(^|\/)gpt-transcribe/;

type Hints = Pick<TranscriptionRequest, 'language' | 'languages' | 'keywords' | 'prompt'>;

/** The hints under the names that the model accepts. Keywords guide Whisper models as part of the prompt. */
function hintFields(
  { model, settings }: TranscriptionModel,
  { language, languages = [], keywords = [], prompt }: Hints,
): FormField[] {
  const takesLists = settings.isParley || modelsWithLists.test(model);
  const prompts = [prompt, takesLists ? undefined : keywords.join(', ')].filter(Boolean);
  return [
    ...(language === undefined ? [] : [['language', language] as const]),
    ...(prompts.length === 0 ? [] : [['prompt', prompts.join(' ')] as const]),
    ...(takesLists ? languages.map((tag) => ['languages[]', tag] as const) : []),
    ...(takesLists ? keywords.map((keyword) => ['keywords[]', keyword] as const) : []),
  ];
}

function speakerFields({ knownSpeakers = [], chunkingStrategy = 'auto' }: TranscriptionRequest): FormField[] {
  return [
    ['chunking_strategy', chunkingStrategy],
    ...knownSpeakers.map(({ name }) => ['known_speaker_names[]', name] as const),
    ...knownSpeakers.map(({ reference }) => ['known_speaker_references[]', reference] as const),
  ];
}

/** Upstreams rely on the file extension, so it is made from the content. The client's file name is not sent. */
function toForm(
  deps: TranscriptionModel,
  request: TranscriptionRequest,
  container: MediaContainer,
): FormBody {
  const { audio, temperature, words } = request;
  const format =
    deps.settings.transcriptionFormat ?? (request.needsSpeakers ? 'diarized_json' : 'verbose_json');
  // Models that identify speakers refuse prompts.
  const hints = format === 'diarized_json' ? { language: request.language } : request;
  const fields: FormField[] = [['model', deps.model], ...hintFields(deps, hints)];
  if (temperature !== undefined) fields.push(['temperature', String(temperature)]);
  fields.push(['response_format', format]);
  if (format === 'verbose_json') fields.push(['timestamp_granularities[]', 'segment']);
  if (format === 'verbose_json' && words) fields.push(['timestamp_granularities[]', 'word']);
  if (format === 'diarized_json') fields.push(...speakerFields(request));
  return multipartForm(fields, {
    name: `audio.${container}`,
    contentType: contentTypes[container],
    bytes: audio,
  });
}

const sliceBytes = 64 * 1024;

interface FormFile {
  /** Letters, digits, dots and hyphens only, as it is not escaped. */
  readonly name: string;
  readonly contentType: string;
  readonly bytes: Uint8Array;
}

interface FormBody {
  /** Content-Type and Content-Length. */
  readonly headers: Readonly<Record<string, string>>;
  /** The whole body, anew with each call. */
  pieces(): AsyncGenerator<Uint8Array>;
}

type FormField = readonly [name: string, value: string];

/**
 * The fields in order, then the file as the field `file`, as a stream: FormData would copy the file. Field names are not
 * escaped.
 */
function multipartForm(fields: readonly FormField[], file: FormFile): FormBody {
  // Random, so that no value can contain it.
  const boundary = `parley-${randomBytes(24).toString('hex')}`;
  const part = (disposition: string) => `--${boundary}\r\nContent-Disposition: form-data; ${disposition}\r\n`;
  const texts = fields.map(([name, value]) => `${part(`name="${name}"`)}\r\n${value}\r\n`).join('');
  const fileHead = `${part(`name="file"; filename="${file.name}"`)}Content-Type: ${file.contentType}\r\n\r\n`;
  const head = Buffer.from(texts + fileHead);
  const tail = Buffer.from(`\r\n--${boundary}--\r\n`);
  return {
    headers: {
      'content-type': `multipart/form-data; boundary=${boundary}`,
      'content-length': String(head.length + file.bytes.length + tail.length),
    },
    async *pieces() {
      yield head;
      for (let at = 0; at < file.bytes.length; at += sliceBytes)
        yield file.bytes.subarray(at, at + sliceBytes);
      yield tail;
    },
  };
}
