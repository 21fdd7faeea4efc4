/**
 * Facts about the REST paths that a schema cannot express: forms, raw audio, server-sent events, allowed values, nulls. RPCs
 * without an entry here are described by their schema alone.
 */
import type { JsonObject } from '@bufbuild/protobuf';
import { transcriptFormats } from '../../src/codec/transcript-formats.ts';
import { audioFormats, contentType } from '../../src/core/entities/engine.ts';
import { type Operation, ownDimensions } from '../../src/core/entities/usage.ts';
import type { ErrorCode } from '../../src/core/values/errors.ts';
import { ref, text } from './rest-schemas.ts';

/** The REST form of an RPC, where it differs from its schema. */
export interface RestForm {
  /** Replaces the comment of the RPC. */
  readonly title?: { readonly summary: string; readonly description: string };
  /** Codes that the comments of the schema do not name. */
  readonly codes?: readonly ErrorCode[];
  /** Keywords of its parameters that other RPCs with the same request do not have. */
  readonly parameters?: Readonly<Record<string, JsonObject>>;
  /** Replaces the JSON of the request message. */
  readonly requestBody?: JsonObject;
  /** Replaces the JSON of the response message: an OpenAPI `content`. */
  readonly content?: JsonObject;
  /** Alternatives to that JSON, by media type. */
  readonly moreContent?: JsonObject;
  /** The messages that the contents above contain. They are described too. */
  readonly messages?: readonly string[];
  /** The operation whose errors it gives. Default: that of its package. */
  readonly operation?: Operation;
  /** The schema of its errors. Default: `Error`. */
  readonly error?: 'MessageError';
}

const binary: JsonObject = { type: 'string', format: 'binary' };

const hints = (description: string): JsonObject => ({
  type: 'array',
  items: { type: 'string' },
  description,
});

/** The fields of the form that the schema does not describe. */
const transcriptionForm: JsonObject = {
  type: 'object',
  required: ['file'],
  properties: {
    file: {
      ...binary,
      description:
        'The recording: flac, m4a, mp3, mp4, mpeg, mpga, oga, ogg, wav or webm, decided by its content. The whole body has at most 4 MB.',
    },
    model: text('Any value: the one active transcription model serves all requests.'),
    response_format: {
      type: 'string',
      enum: [...transcriptFormats],
      default: 'json',
      description: 'The format of the answer.',
    },
    language: text('A hint at the spoken language.'),
    'timestamp_granularities[]': {
      type: 'array',
      items: { type: 'string', enum: ['word', 'segment'] },
      description:
        'The times in `verbose_json`. Default: `segment`. `word` adds words; alone, it leaves out segments.',
    },
    prompt: text('A hint at words and style.'),
    'languages[]': hints('Hints at the languages that may be spoken, as tags such as `en`.'),
    'keywords[]': hints('Hints at words and phrases that may be spoken, such as names.'),
    'known_speaker_names[]': {
      type: 'array',
      maxItems: 4,
      items: { type: 'string', minLength: 1, maxLength: 100 },
      description:
        'Names for the speakers of `known_speaker_references[]`, for models that identify speakers.',
    },
    'known_speaker_references[]': {
      type: 'array',
      maxItems: 4,
      items: { type: 'string', pattern: '^data:audio/[A-Za-z0-9.+-]+;base64,' },
      description: 'A recording of each of these speakers, as a data URL.',
    },
    chunking_strategy: text(
      'How a model that identifies speakers divides the audio: `auto` (default), or a JSON object.',
    ),
    temperature: { type: 'number', description: 'A hint at the randomness, usually 0 to 1.' },
    stream: {
      type: 'boolean',
      default: false,
      description: 'Answers with server-sent events. `response_format` then has no effect.',
    },
  },
};

/** A piece of a completion, except the last, for a client that asked for `include_usage`. */
const pieceWithoutUsage: JsonObject = {
  type: 'object',
  required: ['id', 'object', 'created', 'model', 'choices', 'usage'],
  properties: {
    id: text('Equal in all pieces of a completion.'),
    object: { const: 'text_completion' },
    created: { type: 'integer' },
    model: { type: 'string' },
    choices: { type: 'array', items: ref('CompletionChoice') },
    usage: { type: 'null' },
  },
};

const audio = Object.fromEntries(audioFormats.map((format) => [contentType(format), { schema: binary }]));

/** REST forms by the full name of the RPC. */
export const restForms: Readonly<Record<string, RestForm>> = {
  'parley.account.v1.AccountService.GetUsageTotals': {
    parameters: { group_by: { items: { type: 'string', enum: [...ownDimensions] } } },
  },
  'parley.speech.v1.SpeechService.SynthesizeSpeech': {
    title: {
      summary: 'Synthesises speech',
      description:
        'The answer is the audio itself, and begins while the rest of the text is still being synthesised.',
    },
    content: audio,
  },
  'parley.audio.v1.TranscriptionService.CreateTranscription': {
    title: {
      summary: 'Transcribes a recording',
      description:
        'Answers in the format of `response_format`, or with `stream` as server-sent events: a `transcript.text.delta` for each segment as it is recognised, then `transcript.text.done`.',
    },
    requestBody: {
      required: true,
      content: {
        'multipart/form-data': {
          schema: transcriptionForm,
          encoding: { 'timestamp_granularities[]': { style: 'form', explode: true } },
        },
      },
    },
    content: {
      'application/json': {
        schema: { anyOf: [ref('TranscriptText'), ref('VerboseTranscript')] },
        example: { text: 'Good morning.', usage: { type: 'duration', seconds: 1 } },
      },
      'text/plain': { schema: { type: 'string' }, example: 'Good morning.\n' },
      'text/vtt': {
        schema: { type: 'string' },
        example: 'WEBVTT\n\n00:00:00.000 --> 00:00:00.840\nGood morning.\n\n',
      },
      'text/event-stream': { schema: ref('TranscriptEvent') },
    },
    codes: ['unsupported_response_format'],
    messages: ['parley.audio.v1.TranscriptWord'],
  },
  'parley.chat.v1.ChatService.CreateChatCompletion': {
    title: {
      summary: 'Answers in a conversation',
      description:
        'Returns the whole answer at once, or with `"stream": true` server-sent events: the `data` of each is a chunk, and `data: [DONE]` ends a complete answer.',
    },
    moreContent: { 'text/event-stream': { schema: { anyOf: [ref('ChatCompletionChunk'), ref('Error')] } } },
    messages: ['parley.chat.v1.ChatCompletionChunk'],
  },
  'parley.completions.v1.CompletionsService.CreateCompletion': {
    title: {
      summary: 'Continues a prompt',
      description:
        'Runs a chat whose only message is the prompt. Returns the whole answer at once, or with `"stream": true` server-sent events: the `data` of each is a piece, and `data: [DONE]` ends a complete answer.',
    },
    moreContent: {
      'text/event-stream': { schema: { anyOf: [ref('Completion'), pieceWithoutUsage, ref('Error')] } },
    },
  },
  'parley.responses.v1.ResponsesService.CreateResponse': {
    title: {
      summary: 'Answers in a conversation, in the form of the Responses API',
      description:
        'Returns the whole answer at once, or with `"stream": true` server-sent events, each with a type and a sequence number. Nothing is stored, so each request carries the whole conversation.',
    },
    moreContent: {
      'text/event-stream': { schema: { anyOf: [ref('ResponseEvent'), ref('ResponseErrorEvent')] } },
    },
    messages: ['parley.responses.v1.ResponseEvent'],
  },
  'parley.messages.v1.MessagesService.CreateMessage': {
    title: {
      summary: 'Answers in a conversation, in the form of the Messages API',
      description:
        'Returns the whole answer at once, or with `"stream": true` server-sent events, each named by its type. The key may also be in the header `x-api-key`.',
    },
    moreContent: { 'text/event-stream': { schema: { anyOf: [ref('MessageEvent'), ref('MessageError')] } } },
    messages: ['parley.messages.v1.MessageEvent'],
    error: 'MessageError',
  },
  'parley.audio.v1.TranscriptionService.CreateClientSecret': {
    // It calls no engine.
    operation: 'catalog',
    codes: ['invalid_parameter'],
  },
  'parley.messages.v1.MessagesService.CountMessageTokens': {
    // It calls no engine.
    operation: 'catalog',
    error: 'MessageError',
  },
};

const streamMember: JsonObject = {
  anyOf: [{ type: 'boolean' }, { type: 'null' }],
  default: false,
  description: 'Answers with server-sent events.',
};

/** Members that only REST has, by the full name of the message. */
export const moreMembers: Readonly<Record<string, JsonObject>> = {
  'parley.responses.v1.ResponseParams': { stream: streamMember },
  'parley.messages.v1.MessageParams': { stream: streamMember },
  'parley.completions.v1.CompletionParams': { stream: streamMember },
  'parley.completions.v1.CompletionChoice': { logprobs: { type: 'null' } },
  'parley.responses.v1.Response': {
    previous_response_id: { type: 'null' },
    access_programs: { type: 'null' },
  },
  'parley.chat.v1.ChatCompletionParams': { stream: streamMember },
};

/** Members that each response has, with null if they have no value. */
const responseMembers = [
  ...['error', 'incomplete_details', 'usage', 'instructions', 'temperature', 'top_p'],
  ...['top_logprobs', 'max_output_tokens'],
].map((name) => `parley.responses.v1.Response.${name}`);

/** Members that each message has, with null if they have no value. */
const messageMembers = ['stop_reason', 'stop_sequence'].map((name) => `parley.messages.v1.Message.${name}`);

/** Members that each answer has, though their fields may be unset. */
export const promised: ReadonlySet<string> = new Set([
  'parley.chat.v1.ChatCompletion.usage',
  'parley.chat.v1.ChatChoice.message',
  'parley.chat.v1.ChatChoice.logprobs',
  'parley.chat.v1.ChatChoice.finish_reason',
  'parley.chat.v1.ChatChunkChoice.delta',
  ...responseMembers,
  ...messageMembers,
  'parley.messages.v1.Message.usage',
  'parley.responses.v1.Response.metadata',
  'parley.responses.v1.Response.reasoning',
  'parley.responses.v1.Response.text',
  'parley.responses.v1.Response.tool_choice',
  'parley.chat.v1.ChatChunkChoice.finish_reason',
  'parley.completions.v1.CompletionChoice.finish_reason',
]);

/** Members of answers that may be null. In a request every member that is not required may be null, which means absent. */
export const nullable: ReadonlySet<string> = new Set([
  'parley.chat.v1.ChatChoice.logprobs',
  'parley.chat.v1.ChatChoice.finish_reason',
  'parley.chat.v1.ChatChunkChoice.finish_reason',
  // With `include_usage`, all chunks but the last have null.
  'parley.chat.v1.ChatCompletionChunk.usage',
  'parley.chat.v1.ChatMessage.content',
  'parley.chat.v1.ChatMessage.refusal',
  'parley.completions.v1.CompletionChoice.finish_reason',
  ...messageMembers,
  ...['stop_reason', 'stop_sequence'].map((name) => `parley.messages.v1.MessageDelta.${name}`),
  ...responseMembers,
  // Members that a response repeats as the request had them.
  ...['description', 'parameters', 'strict', 'format'].map(
    (name) => `parley.responses.v1.ResponseTool.${name}`,
  ),
  ...['format', 'verbosity'].map((name) => `parley.responses.v1.TextOptions.${name}`),
  ...['name', 'description', 'schema', 'strict'].map((name) => `parley.responses.v1.TextFormat.${name}`),
  ...['effort', 'summary'].map((name) => `parley.responses.v1.ReasoningOptions.${name}`),
]);
