/** Sends speech, transcription and chat over REST: turns the request of an RPC into HTTP, and the answer into messages. */
import { create, type JsonObject, type JsonValue, type Message } from '@bufbuild/protobuf';
import {
  type CreateTranscriptionRequest,
  CreateTranscriptionRequestSchema,
  CreateTranscriptionResponseSchema,
  type StreamTranscriptionRequest,
  StreamTranscriptionResponseSchema,
  TranscriptSchema,
} from '../../gen/parley/audio/v1/transcription_pb.ts';
import {
  ChatCompletionChunkSchema,
  ChatCompletionParamsSchema,
  type CreateChatCompletionRequest,
  type StreamChatCompletionRequest,
  StreamChatCompletionResponseSchema,
} from '../../gen/parley/chat/v1/chat_pb.ts';
import { ChatService } from '../../gen/parley/chat/v1/chat_service_pb.ts';
import {
  type SynthesizeSpeechRequest,
  SynthesizeSpeechRequestSchema,
  SynthesizeSpeechResponseSchema,
} from '../../gen/parley/speech/v1/speech_pb.ts';
import { jsonCodec } from '../../src/codec/codec.ts';
import type { HttpAnswer, HttpCall } from './http-client.ts';
import { decodeBody } from './response-body.ts';

export type RestCall = Pick<HttpCall, 'method' | 'path' | 'body'> & { readonly contentType?: string };

/** The error in the form of the API. */
export interface ErrorMembers {
  readonly message: string;
  readonly type: string;
  readonly param: string | null;
  readonly code: string;
}

/** The messages that arrived, and the error event of a stream. */
export interface ReadAnswer {
  readonly messages: readonly Message[];
  readonly error?: ErrorMembers | undefined;
}

export function jsonOf({ body }: HttpAnswer): JsonValue {
  return JSON.parse(body.toString());
}

export function errorIn(answer: HttpAnswer): ErrorMembers {
  const { error } = jsonOf(answer) as unknown as { error: ErrorMembers };
  return error;
}

const speechCodec = jsonCodec(SynthesizeSpeechRequestSchema);

export function speechRequest(request: Message): RestCall {
  const json = JSON.stringify(speechCodec.encode(request as SynthesizeSpeechRequest));
  return { method: 'POST', path: '/api/v1/audio/speech', body: json, contentType: 'application/json' };
}

/** The body is the audio itself, and Content-Type is its type. */
export function readSpeech({ body, headers }: HttpAnswer): ReadAnswer {
  const contentType = headers['content-type'] ?? '';
  return { messages: [create(SynthesizeSpeechResponseSchema, { audio: body, contentType })] };
}

const paramsCodec = jsonCodec(ChatCompletionParamsSchema);
const chunkCodec = jsonCodec(ChatCompletionChunkSchema);

export function chatRequest(request: Message, stream: boolean): RestCall {
  const { params } = request as CreateChatCompletionRequest | StreamChatCompletionRequest;
  const json = paramsCodec.encode(params ?? create(ChatCompletionParamsSchema)) as JsonObject;
  const body = JSON.stringify({ ...json, ...(stream && { stream }) });
  return { method: 'POST', path: '/api/v1/chat/completions', body, contentType: 'application/json' };
}

const saidMembers = ['message', 'delta'];

/** An answer without the nulls that REST writes where a message has no value. */
function withoutNulls(json: JsonValue): JsonObject {
  const { choices, usage, ...answer } = json as JsonObject;
  const cleaned = (choices as JsonObject[]).map((choice) => {
    const members = Object.entries(choice).map(([name, value]): [string, JsonValue] =>
      saidMembers.includes(name) ? [name, filled(value as JsonObject)] : [name, value],
    );
    return filled(Object.fromEntries(members));
  });
  return { ...answer, choices: cleaned, ...(usage && { usage }) };
}

function filled(json: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(json).filter(([, value]) => value !== null));
}

export function readChat(answer: HttpAnswer): ReadAnswer {
  return { messages: [decodeBody(ChatService.method.createChatCompletion, withoutNulls(jsonOf(answer)))] };
}

/** Reads chunks from events up to `[DONE]`. Without it the answer is cut. */
export function readChatStream(answer: HttpAnswer): ReadAnswer {
  const { events, error, isDone } = readEvents(answer);
  if (!isDone && error === undefined && !answer.isCut) throw new Error('the stream ended without a word');
  const chunks = events.map((event) => chunkCodec.decodeLeniently(withoutNulls(event as JsonValue)));
  return { messages: chunks.map((chunk) => create(StreamChatCompletionResponseSchema, { chunk })), error };
}

const boundary = 'a-boundary-of-the-table';
const transcriptCodec = jsonCodec(TranscriptSchema);

/** The form of a request. Asks for `verbose_json`, as only this format has everything that the schema has. */
export function formRequest(request: Message, stream: boolean): RestCall {
  const { file, fileName, model, language, languages, keywords, timestampGranularities } =
    transcriptionOf(request);
  const fields: [string, string | undefined][] = [
    ['response_format', 'verbose_json'],
    ['model', model],
    ['language', language],
    ...timestampGranularities.map((value): [string, string] => ['timestamp_granularities[]', value]),
    ...languages.map((value): [string, string] => ['languages[]', value]),
    ...keywords.map((value): [string, string] => ['keywords[]', value]),
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
  const transcript = transcriptCodec.decodeLeniently(jsonOf(answer));
  return { messages: [create(CreateTranscriptionResponseSchema, { transcript })] };
}

type TextEvent =
  | { readonly type: 'transcript.text.delta' }
  | ({ readonly type: 'transcript.text.segment'; readonly id: string } & SegmentTimes)
  | { readonly type: 'transcript.text.done'; readonly text: string };

type SegmentTimes = Readonly<Record<'start' | 'end', number>> & { readonly text: string };

/** REST sends the text and times of each segment, and the whole text at the end. */
export function readTranscriptStream(answer: HttpAnswer): ReadAnswer {
  const { events, error } = readEvents(answer);
  const messages = (events as TextEvent[]).flatMap((event) => {
    if (event.type === 'transcript.text.delta') return [];
    const { text } = event;
    const told =
      event.type === 'transcript.text.segment'
        ? {
            case: 'segment' as const,
            value: { id: Number(event.id), start: event.start, end: event.end, text },
          }
        : { case: 'transcript' as const, value: { text } };
    return [create(StreamTranscriptionResponseSchema, { event: told })];
  });
  return { messages, error };
}

interface Events {
  readonly events: readonly unknown[];
  /** The name of each event; empty if it has none. */
  readonly names: readonly string[];
  /** The error in the last event, if it is one. */
  readonly error: ReadAnswer['error'];
  readonly isDone: boolean;
}

/** The server-sent events of an answer. An incomplete one is left out, and so are comments. */
export function readEvents({ body }: HttpAnswer): Events {
  const blocks = body
    .toString()
    .split('\n\n')
    .slice(0, -1)
    .filter((block) => !block.startsWith(':'));
  const names = blocks.map((block) => /^event: (.*)\n/.exec(block)?.[1] ?? '');
  const data = blocks.map((block) => block.replace(/^(event: .*\n)?data: /, ''));
  const isDone = data.at(-1) === '[DONE]';
  const events = (isDone ? data.slice(0, -1) : data).map((event): unknown => JSON.parse(event));
  const last = events.at(-1) as { readonly error?: ReadAnswer['error'] } | undefined;
  return { events: last?.error ? events.slice(0, -1) : events, names, error: last?.error, isDone };
}
