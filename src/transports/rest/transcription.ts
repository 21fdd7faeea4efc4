import { create } from '@bufbuild/protobuf';
import {
  type CreateTranscriptionRequest,
  CreateTranscriptionRequestSchema,
  StreamTranscriptionRequestSchema,
  type StreamTranscriptionResponse,
} from '../../../gen/parley/audio/v1/transcription_pb.ts';
import { singly } from '../../core/batches.ts';
import type { Call } from '../../core/call.ts';
import { ParleyError } from '../../core/errors.ts';
import {
  checkFile,
  type TranscriptionOperations,
  tooLarge,
  transcriptionBytesMax,
} from '../../core/transcription/service.ts';
import type { TranscriptNeeds } from '../../core/transcription/times.ts';
import type { Exchange } from './exchange.ts';
import { type Form, readForm } from './multipart.ts';
import { replayHeaders } from './replay.ts';
import { sendEvents } from './sse.ts';
import { readTranscriptFormat, renderTranscript, type TranscriptFormat } from './transcript-formats.ts';

/** Clients send lists in forms under a name with brackets; some leave them out. */
const granularityFields = ['timestamp_granularities[]', 'timestamp_granularities'];

/** POST /audio/transcriptions: a form in, the transcript in the format that was asked for out. */
export function transcriptionHandler(transcription: TranscriptionOperations) {
  return async (exchange: Exchange, call: Call): Promise<void> => {
    const form = await readForm(exchange, transcriptionBytesMax, tooLarge);
    const request = toRequest(form);
    checkFile(request);
    const format = readTranscriptFormat(lastValue(form, 'response_format'));
    call.answerForm = format;
    if (isStreamed(form)) return streamTranscript(exchange, call, transcription, request);
    const wanted = request.timestampGranularities;
    const needs = needsOf(format, wanted);
    const { transcript } = await transcription.createTranscription(request, call, needs);
    if (transcript === undefined) throw new ParleyError('internal_error');
    const withSegments = wanted.length === 0 || wanted.includes('segment');
    const { contentType, text } = renderTranscript(transcript, format, withSegments);
    exchange.sendText(200, contentType, text, replayHeaders(call));
  };
}

/** Of the formats, subtitles cannot do without times, and only `verbose_json` shows those of words. */
function needsOf(format: TranscriptFormat, granularities: readonly string[]): TranscriptNeeds {
  return {
    segments: format === 'srt' || format === 'vtt',
    words: format === 'verbose_json' && granularities.includes('word'),
  };
}

async function streamTranscript(
  exchange: Exchange,
  call: Call,
  transcription: TranscriptionOperations,
  request: CreateTranscriptionRequest,
): Promise<void> {
  const parts = transcription.streamTranscription(
    create(StreamTranscriptionRequestSchema, { transcription: request }),
    call,
    { segments: false, words: false },
  );
  await sendEvents(exchange, singly(toTextEvents(parts)), (event) => event);
  exchange.end();
}

type TextEvent =
  | { readonly type: 'transcript.text.delta'; readonly delta: string }
  | { readonly type: 'transcript.text.done'; readonly text: string };

/** Tells each segment as it is recognised, as the API's clients read it, and the whole text at the end. */
async function* toTextEvents(parts: AsyncIterable<StreamTranscriptionResponse>): AsyncGenerator<TextEvent> {
  let hasText = false;
  for await (const { event } of parts) {
    if (event.case === 'segment') {
      const { text } = event.value;
      yield { type: 'transcript.text.delta', delta: hasText ? ` ${text}` : text };
      hasText = true;
    }
    if (event.case === 'transcript') {
      const { text } = event.value;
      // A model that tells no segments has told nothing so far to those who put the deltas together.
      if (!hasText && text !== '') yield { type: 'transcript.text.delta', delta: text };
      yield { type: 'transcript.text.done', text };
    }
  }
}

function isStreamed(form: Form): boolean {
  const stream = lastValue(form, 'stream')?.trim().toLowerCase();
  if (stream === undefined || stream === 'false' || stream === '') return false;
  if (stream === 'true') return true;
  throw new ParleyError('invalid_input', { message: '`stream` must be true or false.', param: 'stream' });
}

function toRequest(form: Form) {
  const language = lastValue(form, 'language')?.trim();
  const model = lastValue(form, 'model');
  return create(CreateTranscriptionRequestSchema, {
    ...(form.file && { file: form.file.bytes, fileName: form.file.name }),
    ...(language && { language }),
    ...(model !== undefined && { model }),
    timestampGranularities: granularityFields.flatMap((name) => form.fields.get(name) ?? []),
  });
}

function lastValue({ fields }: Form, name: string): string | undefined {
  return fields.get(name)?.at(-1);
}
