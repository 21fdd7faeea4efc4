import { create } from '@bufbuild/protobuf';
import { CreateTranscriptionRequestSchema } from '../../gen/parley/audio/v1/transcription_pb.ts';
import type { Call } from '../core/call.ts';
import { ParleyError } from '../core/errors.ts';
import {
  checkFile,
  type TranscriptionOperations,
  tooLarge,
  transcriptionBytesMax,
} from '../core/transcription.ts';
import type { Exchange } from './exchange.ts';
import { type Form, readForm } from './multipart.ts';
import { replayHeaders } from './replay.ts';
import { readTranscriptFormat, renderTranscript } from './transcript-formats.ts';

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
    const { transcript } = await transcription.createTranscription(request, call);
    if (transcript === undefined) throw new ParleyError('internal_error');
    const wanted = request.timestampGranularities;
    const withSegments = wanted.length === 0 || wanted.includes('segment');
    const { contentType, text } = renderTranscript(transcript, format, withSegments);
    exchange.sendText(200, contentType, text, replayHeaders(call));
  };
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
