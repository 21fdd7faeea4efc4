import { create, type Message } from '@bufbuild/protobuf';
import {
  type CreateTranscriptionRequest,
  CreateTranscriptionRequestSchema,
  CreateTranscriptionResponseSchema,
  type StreamTranscriptionRequest,
  StreamTranscriptionResponseSchema,
  TranscriptSchema,
} from '../../gen/parley/audio/v1/transcription_pb.ts';
import { jsonCodec } from '../../src/codec/codec.ts';
import type { HttpAnswer } from './http-client.ts';
import { jsonOf, type ReadAnswer, type RestCall } from './rest-call.ts';
import { readEvents } from './sse.ts';

const boundary = 'a-boundary-of-the-table';
const transcriptCodec = jsonCodec(TranscriptSchema);

/** The form of a request; `verbose_json` is the format that tells all that the schema has. */
export function formRequest(request: Message, stream: boolean): RestCall {
  const { file, fileName, model, language, timestampGranularities } = transcriptionOf(request);
  const fields: [string, string | undefined][] = [
    ['response_format', 'verbose_json'],
    ['model', model],
    ['language', language],
    ...timestampGranularities.map((value): [string, string] => ['timestamp_granularities[]', value]),
    ['stream', stream ? 'true' : undefined],
  ];
  const parts = fields.flatMap(([name, value]) =>
    value === undefined ? [] : [part(`name="${name}"`, Buffer.from(value))],
  );
  if (file) parts.push(part(`name="file"; filename="${fileName ?? 'audio'}"`, file));
  const body = Buffer.concat([...parts, Buffer.from(`--${boundary}--\r\n`)]);
  const contentType = `multipart/form-data; boundary=${boundary}`;
  return { method: 'POST', path: '/api/v1/audio/transcriptions', body, contentType };
}

function transcriptionOf(message: Message): CreateTranscriptionRequest {
  const request = message as CreateTranscriptionRequest | StreamTranscriptionRequest;
  if (request.$typeName === 'parley.audio.v1.CreateTranscriptionRequest') return request;
  return request.transcription ?? create(CreateTranscriptionRequestSchema);
}

function part(disposition: string, content: Uint8Array): Buffer {
  const head = `--${boundary}\r\ncontent-disposition: form-data; ${disposition}\r\n\r\n`;
  return Buffer.concat([Buffer.from(head), content, Buffer.from('\r\n')]);
}

export function readTranscript(answer: HttpAnswer): ReadAnswer {
  const transcript = transcriptCodec.decodeLeniently(jsonOf(answer)).message;
  return { messages: [create(CreateTranscriptionResponseSchema, { transcript })] };
}

type TextEvent =
  | { readonly type: 'transcript.text.delta'; readonly delta: string }
  | { readonly type: 'transcript.text.done'; readonly text: string };

/** REST tells the text of each segment, and the whole of it at the end. */
export function readTranscriptStream(answer: HttpAnswer): ReadAnswer {
  const { events, error } = readEvents(answer);
  const messages = (events as TextEvent[]).map((event, id) =>
    create(StreamTranscriptionResponseSchema, {
      event:
        event.type === 'transcript.text.delta'
          ? { case: 'segment', value: { id, text: event.delta.trimStart() } }
          : { case: 'transcript', value: { text: event.text } },
    }),
  );
  return { messages, error };
}
