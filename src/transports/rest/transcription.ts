import { create } from '@bufbuild/protobuf';
import {
  type CreateTranscriptionRequest,
  CreateTranscriptionRequestSchema,
  StreamTranscriptionRequestSchema,
  type StreamTranscriptionResponse,
} from '../../../gen/parley/audio/v1/transcription_pb.ts';
import {
  readTranscriptFormat,
  renderTranscript,
  type TranscriptFormat,
  usageOf,
} from '../../codec/transcript-formats.ts';
import type { Call } from '../../core/access/call.ts';
import type { RpcTable } from '../../core/rpcs.ts';
import { checkFile, tooLarge, transcriptionBytesMax } from '../../core/transcription/service.ts';
import type { Batches } from '../../core/values/batches.ts';
import { ParleyError } from '../../core/values/errors.ts';
import { invalidInput } from '../../core/values/parameters.ts';
import type { Exchange, RestHandler } from './exchange.ts';
import { boundaryOf, type Form, parseForm } from './multipart.ts';
import { readBytes } from './request.ts';
import { sendEvents } from './response.ts';

/** SDKs send lists under a name with brackets; some clients omit the brackets. */
const listFields = (name: string) => [`${name}[]`, name];
const granularityFields = listFields('timestamp_granularities');
const languageFields = listFields('languages');
const keywordFields = listFields('keywords');
const speakerNameFields = listFields('known_speaker_names');
const speakerReferenceFields = listFields('known_speaker_references');
const shortFields = [
  ...['model', 'language', 'temperature', 'response_format', 'stream', 'chunking_strategy'],
  ...speakerNameFields,
  ...[...granularityFields, ...languageFields, ...keywordFields],
];
const shortFieldBytesMax = 64 * 1024;
/** The fields in use. Clients send prompts of any length; the form as a whole bounds them. */
const fields: ReadonlyMap<string, number> = new Map([
  ['prompt', transcriptionBytesMax],
  // For clients that send the recording as text, so that the answer tells them.
  ['file', transcriptionBytesMax],
  ...speakerReferenceFields.map((name) => [name, transcriptionBytesMax] as const),
  ...shortFields.map((name) => [name, shortFieldBytesMax] as const),
]);

interface TranscriptionForm {
  readonly transcription: CreateTranscriptionRequest;
  readonly format: TranscriptFormat;
  readonly isStreamed: boolean;
}

/** POST /audio/transcriptions: takes a form, answers with the transcript in the requested format. `stream` chooses the RPC. */
export function transcriptionHandler({ createTranscription, streamTranscription }: RpcTable): RestHandler {
  return async (exchange) => {
    const { served } = exchange;
    const { transcription, format, isStreamed } = await served.read((call) => readUpload(exchange, call));
    if (isStreamed) {
      const request = create(StreamTranscriptionRequestSchema, { transcription });
      const parts = served.stream(streamTranscription, request);
      await sendEvents(
        exchange,
        toTextEvents(parts, format === 'verbose_json' || format === 'diarized_json'),
        JSON.stringify,
      );
      return exchange.end();
    }
    const { transcript } = await served.answer(createTranscription, transcription);
    if (transcript === undefined) throw new ParleyError('internal_error');
    const wanted = transcription.timestampGranularities;
    const withSegments = wanted.length === 0 || wanted.includes('segment');
    const { contentType, text } = renderTranscript(transcript, format, withSegments);
    exchange.sendText(200, contentType, text);
  };
}

async function readUpload(exchange: Exchange, call: Call): Promise<TranscriptionForm> {
  const boundary = boundaryOf(exchange.request.headers['content-type'] ?? '');
  const form = parseForm(await readBytes(exchange, transcriptionBytesMax, tooLarge), boundary, fields);
  const transcription = toRequest(form);
  if (form.file === undefined && form.fields.has('file')) throw sentAsText();
  checkFile(transcription);
  const format = readTranscriptFormat(lastValue(form, 'response_format'));
  if (format === 'diarized_json') transcription.speakers = true;
  const temperature = readTemperature(lastValue(form, 'temperature'));
  if (temperature !== undefined) transcription.temperature = temperature;
  const isStreamed = readStream(form);
  call.answerForm = isStreamed ? 'events' : format;
  return { transcription, format, isStreamed };
}

function sentAsText(): ParleyError {
  return new ParleyError('missing_file', {
    message: 'The form field `file` is a text. Send the recording as a file, with a filename.',
    param: 'file',
  });
}

type TextEvent =
  | { readonly type: 'transcript.text.delta'; readonly delta: string; readonly segment_id?: string }
  | {
      readonly type: 'transcript.text.segment';
      readonly id: string;
      /** Seconds. */
      readonly start: number;
      /** Seconds. */
      readonly end: number;
      readonly text: string;
      /** Empty if the model identifies no speakers, as SDKs expect the member. */
      readonly speaker: string;
    }
  | {
      readonly type: 'transcript.text.done';
      readonly text: string;
      readonly usage: { readonly type: 'duration'; readonly seconds: number };
    };

/**
 * Yields each segment as a delta as soon as it is recognised, and the whole text at the end.
 * @param withTimes whether to send each segment also as an event with its times
 */
async function* toTextEvents(
  batches: Batches<StreamTranscriptionResponse>,
  withTimes: boolean,
): AsyncGenerator<TextEvent[]> {
  let hasText = false;
  for await (const parts of batches) {
    for (const { event } of parts) {
      if (event.case === 'segment') {
        const { text, start, end, speaker = '' } = event.value;
        const id = String(event.value.id);
        const delta = hasText ? ` ${text}` : text;
        hasText = true;
        if (withTimes) {
          yield [
            { type: 'transcript.text.delta', delta, segment_id: id },
            { type: 'transcript.text.segment', id, start, end, text, speaker },
          ];
        } else yield [{ type: 'transcript.text.delta', delta }];
      }
      if (event.case === 'transcript') {
        const { text } = event.value;
        // Some models produce no segments. Clients that join the deltas need the text as one delta.
        if (!hasText && text !== '') yield [{ type: 'transcript.text.delta', delta: text }];
        yield [{ type: 'transcript.text.done', text, usage: usageOf(event.value) }];
      }
    }
  }
}

function readStream(form: Form): boolean {
  const stream = lastValue(form, 'stream')?.trim().toLowerCase();
  if (stream === undefined || stream === 'false' || stream === '') return false;
  if (stream === 'true') return true;
  throw invalidInput('stream', '`stream` must be true or false.');
}

function toRequest(form: Form) {
  const language = lastValue(form, 'language')?.trim();
  const model = lastValue(form, 'model');
  const prompt = lastValue(form, 'prompt');
  const chunkingStrategy = lastValue(form, 'chunking_strategy');
  return create(CreateTranscriptionRequestSchema, {
    ...(form.file && { file: form.file.bytes, fileName: form.file.name }),
    ...(language && { language }),
    ...(model !== undefined && { model }),
    ...(prompt && { prompt }),
    timestampGranularities: allValues(form, granularityFields),
    languages: hintsOf(form, languageFields),
    keywords: hintsOf(form, keywordFields),
    knownSpeakerNames: allValues(form, speakerNameFields),
    knownSpeakerReferences: allValues(form, speakerReferenceFields),
    ...(chunkingStrategy && { chunkingStrategy }),
  });
}

function readTemperature(text = ''): number | undefined {
  if (text.trim() === '') return undefined;
  const temperature = Number(text);
  if (Number.isFinite(temperature)) return temperature;
  throw invalidInput('temperature', '`temperature` must be a number.');
}

function hintsOf(form: Form, names: readonly string[]): string[] {
  const hints = allValues(form, names).map((hint) => hint.trim());
  return hints.filter((hint) => hint !== '');
}

function allValues({ fields }: Form, names: readonly string[]): string[] {
  return names.flatMap((name) => fields.get(name) ?? []);
}

function lastValue({ fields }: Form, name: string): string | undefined {
  return fields.get(name)?.at(-1);
}
