/** Schemas of answers that have no message in the schemas. */
import type { JsonObject } from '@bufbuild/protobuf';

export const ref = (name: string): JsonObject => ({ $ref: `#/components/schemas/${name}` });
export const text = (description: string): JsonObject => ({ type: 'string', description });

const seconds: JsonObject = { type: 'number', description: 'Seconds.' };

export const restSchemas: JsonObject = {
  TranscriptText: {
    type: 'object',
    required: ['text', 'usage'],
    properties: { text: text('The whole text; empty for silence.'), usage: ref('TranscriptUsage') },
  },
  VerboseTranscript: {
    type: 'object',
    required: ['task', 'language', 'duration', 'text', 'usage'],
    properties: {
      task: { const: 'transcribe' },
      language: text('An English name, such as `english`.'),
      duration: { type: 'number', description: 'Seconds of audio.' },
      text: text('The whole text; empty for silence.'),
      segments: { type: 'array', items: ref('VerboseSegment') },
      words: { type: 'array', items: ref('TranscriptWord') },
      usage: ref('TranscriptUsage'),
    },
  },
  TranscriptUsage: {
    type: 'object',
    required: ['type', 'seconds'],
    properties: {
      type: { const: 'duration' },
      seconds: { type: 'integer', description: 'Started seconds of audio, as fair use counts them.' },
    },
  },
  VerboseSegment: {
    type: 'object',
    description: 'Each member is always present. Unknown probabilities are 0.',
    required: [
      ...['id', 'seek', 'start', 'end', 'text', 'tokens', 'temperature'],
      ...['avg_logprob', 'compression_ratio', 'no_speech_prob'],
    ],
    properties: {
      id: { type: 'integer', description: 'Counts from 0.' },
      seek: { type: 'integer', description: 'Position of the decoded window, in units of 10 ms.' },
      start: seconds,
      end: seconds,
      text: { type: 'string' },
      tokens: { type: 'array', items: { type: 'integer' } },
      temperature: { type: 'number' },
      avg_logprob: { type: 'number' },
      compression_ratio: { type: 'number' },
      no_speech_prob: { type: 'number' },
    },
  },
  ResponseErrorEvent: {
    type: 'object',
    description: 'The last event of an answer that failed after its first event.',
    required: ['type', 'sequence_number', 'code', 'message', 'param', 'error'],
    properties: {
      type: { const: 'error' },
      sequence_number: { type: 'integer' },
      code: { type: 'string' },
      message: { type: 'string' },
      param: { type: ['string', 'null'] },
      error: { $ref: '#/components/schemas/Error/properties/error' },
    },
  },
  MessageError: {
    type: 'object',
    description: 'The body of every error of the Messages API, and the data of the event `error`.',
    required: ['type', 'error', 'request_id'],
    properties: {
      type: { const: 'error' },
      error: { $ref: '#/components/schemas/Error/properties/error' },
      request_id: { type: 'string' },
    },
  },
  TranscriptEvent: {
    description: 'The data of a server-sent event.',
    anyOf: [
      {
        type: 'object',
        required: ['type', 'delta'],
        properties: {
          type: { const: 'transcript.text.delta' },
          delta: text('The next piece of text.'),
          segment_id: text('With `verbose_json`: the segment.'),
        },
      },
      {
        type: 'object',
        description: 'With `verbose_json`: a segment and its times.',
        required: ['type', 'id', 'start', 'end', 'text', 'speaker'],
        properties: {
          type: { const: 'transcript.text.segment' },
          id: { type: 'string' },
          start: seconds,
          end: seconds,
          text: { type: 'string' },
          speaker: {
            type: 'string',
            const: '',
            description: 'Always empty: no engine distinguishes speakers.',
          },
        },
      },
      {
        type: 'object',
        required: ['type', 'text', 'usage'],
        properties: {
          type: { const: 'transcript.text.done' },
          text: text('The whole text.'),
          usage: ref('TranscriptUsage'),
        },
      },
      ref('Error'),
    ],
  },
};
