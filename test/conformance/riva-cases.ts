/** The RPCs of NVIDIA Riva: the same records, units and errors as Parley's own. */

import type { MessageInitShape } from '@bufbuild/protobuf';
import { expect } from 'vitest';
import {
  type RecognitionConfigSchema,
  RivaSpeechRecognition,
  type StreamingRecognizeRequestSchema,
} from '../../gen/nvidia/riva/asr/riva_asr_pb.ts';
import { AudioEncoding } from '../../gen/nvidia/riva/riva_audio_pb.ts';
import {
  RivaSpeechSynthesis,
  type SynthesizeSpeechRequestSchema,
} from '../../gen/nvidia/riva/tts/riva_tts_pb.ts';
import { transcriptionBytesMax } from '../../src/core/transcription/service.ts';
import type { ErrorCode } from '../../src/core/values/errors.ts';
import {
  type Case,
  type CaseRequest,
  calling,
  callingWith,
  cancelled,
  type ExpectedError,
  ended,
  noRest,
  ok,
} from './case.ts';
import { play, recording, type Step } from './play.ts';

const { recognize, streamingRecognize, getRivaSpeechRecognitionConfig } = RivaSpeechRecognition.method;
const { synthesize, synthesizeOnline, getRivaSynthesisConfig } = RivaSpeechSynthesis.method;

type Config = MessageInitShape<typeof RecognitionConfigSchema>;
type Speech = MessageInitShape<typeof SynthesizeSpeechRequestSchema>;

const onHttp2 = 'requests and answers at the same time need HTTP/2';
const noPaths = noRest('Riva has no REST paths');
/** A relay is compared by the rows of Parley's own RPCs, which call the same engines. */
const unary: Partial<Case> = { isOfServer: true, notOn: noPaths };
const streamed: Partial<Case> = {
  isOfServer: true,
  hasTurns: true,
  notOn: { ...noPaths, 'Connect JSON': onHttp2, 'gRPC-Web': onHttp2 },
};

const recognizing = (audio: Uint8Array, config: Config = {}) => calling(recognize, { config, audio });
const playing = (...steps: readonly Step[]) => recognizing(recording(...steps));
const speaking = (request: Speech) => calling(synthesize, request);
const speakingEach = (...texts: readonly Speech[]) => callingWith(synthesizeOnline, texts);
const transcribed = (facts: Record<string, unknown> = {}) =>
  ok({ operation: 'transcription', model: 'pocketsphinx', ...facts });
const spoken = (facts: Record<string, unknown> = {}) => ok({ operation: 'speech', model: 'flite', ...facts });
/** The record of a session, which costs nothing itself. */
const speechSession = ok({ operation: 'speech', fair_use_units: 0 });

/** Samples as somebody speaks them. */
function streaming(config: Config | undefined, samples: Uint8Array): CaseRequest {
  const requests: MessageInitShape<typeof StreamingRecognizeRequestSchema>[] = [];
  if (config) requests.push({ streamingRequest: { case: 'streamingConfig', value: { config } } });
  for (let at = 0; at < samples.length; at += 3_200) {
    const value = samples.subarray(at, at + 3_200);
    requests.push({ streamingRequest: { case: 'audioContent', value } });
  }
  return callingWith(streamingRecognize, requests);
}

/** Cases that need a real recogniser. @param spokenWav a short sentence, as `wavFile` makes them */
export function rivaRecognitionCases(spokenWav: Uint8Array): Case[] {
  const samples = spokenWav.subarray(44);
  const units = { fair_use_units: Math.ceil(samples.length / 32_000) * 15 };
  // Moonshine writes capitals and full stops.
  const transcript = expect.stringMatching(/^hello,? my friend\.? $/i);
  const recognized = (what: string, audio: Uint8Array, config: Config): Case => ({
    ...unary,
    what,
    server: 'builtin',
    request: recognizing(audio, config),
    answer: [{ results: [{ alternatives: [{ transcript }], channelTag: 1 }] }],
    records: [transcribed(units)],
  });
  const heard = (what: string, sent: Uint8Array): Case => ({
    ...streamed,
    what,
    server: 'builtin',
    request: streaming({ sampleRateHertz: 16_000 }, sent),
    answer: [{ results: [{ alternatives: [{ transcript }], isFinal: true, stability: 1 }] }],
    records: [transcribed({ fair_use_units: 0 }), transcribed(units)],
  });
  return [
    recognized('Riva: a whole WAV file', spokenWav, { languageCode: 'en-US' }),
    recognized('Riva: samples of the stated rate', samples, {
      encoding: AudioEncoding.LINEAR_PCM,
      sampleRateHertz: 16_000,
    }),
    heard('Riva: live samples', samples),
    heard('Riva: a live WAV file', spokenWav),
  ];
}

function refusedRecording(what: string, request: CaseRequest, code: ErrorCode, param: string): Case {
  const records = [ended('refused', code, { operation: 'transcription' })];
  return {
    ...unary,
    what: `${code}: Riva, ${what}`,
    server: 'playing',
    request,
    error: { code, param },
    records,
  };
}

function refusedStream(what: string, request: CaseRequest, code: ErrorCode, param: string): Case {
  const refused = refusedRecording(what, request, code, param);
  return { ...refused, ...streamed, server: 'builtin' };
}

const linear = { encoding: AudioEncoding.LINEAR_PCM };

const recordings: Case[] = [
  {
    ...unary,
    what: 'Riva: a recording with the times of its words',
    server: 'playing',
    request: recognizing(recording('say one', 'say two'), { enableWordTimeOffsets: true }),
    answer: [
      {
        results: [
          {
            alternatives: [
              {
                transcript: 'one two ',
                words: [
                  { word: 'one', endTime: 250 },
                  { word: 'two', startTime: 250, endTime: 500 },
                ],
              },
            ],
            audioProcessed: 0.5,
          },
        ],
      },
    ],
    records: [transcribed({ audio_seconds_in: 0.5, fair_use_units: 15 })],
  },
  {
    ...unary,
    what: 'Riva: a recording that is repeated under the same Idempotency-Key',
    server: 'playing',
    idempotencyKey: 'again',
    before: [playing('say one')],
    request: playing('say one'),
    answer: [{ results: [{ alternatives: [{ transcript: 'one ' }] }] }],
    records: [transcribed(), { state: 'replayed', http_status: 200, model: 'pocketsphinx' }],
  },
  {
    ...unary,
    what: 'Riva: the transcription model',
    server: 'playing',
    request: calling(getRivaSpeechRecognitionConfig, {}),
    answer: [{ modelConfig: [{ parameters: { type: 'online' } }, { parameters: { type: 'offline' } }] }],
    records: [ok({ operation: 'catalog' })],
  },
  refusedRecording(
    'no configuration',
    calling(recognize, { audio: recording('say one') }),
    'invalid_input',
    'config',
  ),
  refusedRecording('no recording', recognizing(new Uint8Array()), 'missing_file', 'audio'),
  refusedRecording(
    'words that are filtered',
    recognizing(recording('say one'), { profanityFilter: true }),
    'invalid_input',
    'profanity_filter',
  ),
  refusedRecording(
    'samples of an odd rate',
    recognizing(new Uint8Array(100), { ...linear, sampleRateHertz: 16_001 }),
    'invalid_input',
    'sample_rate_hertz',
  ),
  {
    ...refusedRecording(
      'bytes that are no audio',
      recognizing(Buffer.alloc(2_000, 7)),
      'invalid_file',
      'audio',
    ),
    server: 'builtin',
  },
  refusedStream(
    'live samples before the configuration',
    streaming(undefined, new Uint8Array(2)),
    'invalid_input',
    'streaming_config',
  ),
  refusedStream(
    'live FLAC',
    streaming({ encoding: AudioEncoding.FLAC }, new Uint8Array()),
    'invalid_input',
    'encoding',
  ),
  refusedStream(
    'live samples of two channels',
    streaming({ ...linear, audioChannelCount: 2 }, new Uint8Array()),
    'invalid_input',
    'audio_channel_count',
  ),
  refusedStream(
    'an end of speech after no silence',
    streaming({ endpointingConfig: { stopHistory: 50 } }, new Uint8Array()),
    'invalid_input',
    'stop_history',
  ),
];

const texts: Case[] = [
  {
    ...unary,
    what: 'Riva: speech as PCM',
    server: 'playing',
    request: speaking({ text: play('say okay') }),
    answer: [{ audio: Buffer.from('okay').toString('base64') }],
    records: [spoken({ characters: play('say okay').length, fair_use_units: play('say okay').length })],
  },
  {
    ...unary,
    what: 'Riva: speech as Opus',
    server: 'builtin',
    request: speaking({
      text: 'Hello.',
      voiceName: 'flite.kal16',
      encoding: AudioEncoding.OGGOPUS,
      languageCode: 'en-US',
    }),
    records: [spoken({ characters: 6, fair_use_units: 6 })],
  },
  {
    ...streamed,
    what: 'Riva: a stream of texts, each a request of its own',
    server: 'playing',
    request: speakingEach({ text: play('say okay') }, { text: play('say fine'), voiceName: 'flite' }),
    answer: [
      { audio: Buffer.from('okay').toString('base64') },
      { audio: Buffer.from('fine').toString('base64') },
    ],
    records: [speechSession, spoken({ fair_use_units: 14 }), spoken({ fair_use_units: 14 })],
  },
  {
    ...streamed,
    what: 'Riva: a stream without a text',
    server: 'playing',
    request: speakingEach(),
    answer: [],
    records: [speechSession],
  },
  {
    ...unary,
    what: 'Riva: the speech models and their voices',
    server: 'builtin',
    request: calling(getRivaSynthesisConfig, { modelName: 'flite' }),
    answer: [
      { modelConfig: [{ modelName: 'flite', parameters: { voice_name: 'flite', language_code: 'en-US' } }] },
    ],
    records: [ok({ operation: 'catalog' })],
  },
];

function refusedText(what: string, request: Speech, code: ErrorCode, param: string): Case[] {
  const records = [ended('refused', code, { operation: 'speech' })];
  const refused = { server: 'builtin', error: { code, param } } as const;
  return [
    { ...unary, ...refused, what: `${code}: Riva, ${what}`, request: speaking(request), records },
    {
      ...streamed,
      ...refused,
      what: `${code}: Riva, ${what}, in a stream`,
      request: speakingEach(request),
      records: [...records, ...records],
    },
  ];
}

const refusedTexts: Case[] = [
  ...refusedText('no text', {}, 'missing_input', 'text'),
  ...refusedText('a text of blanks', { text: ' ' }, 'invalid_input', 'text'),
  ...refusedText('a long text', { text: 'x'.repeat(4_001) }, 'input_too_long', 'text'),
  ...refusedText('an unknown voice', { text: 'Hello.', voiceName: 'flite.x' }, 'unknown_voice', 'voice_name'),
  ...refusedText(
    'a language that no voice speaks',
    { text: 'Hello.', languageCode: 'de-DE' },
    'unknown_voice',
    'language_code',
  ),
  ...refusedText('an odd rate', { text: 'Hello.', sampleRateHz: 1 }, 'invalid_input', 'sample_rate_hz'),
  ...refusedText(
    'FLAC',
    { text: 'Hello.', encoding: AudioEncoding.FLAC },
    'unsupported_response_format',
    'encoding',
  ),
];

/** The same refusal of each RPC. */
function declined(code: ErrorCode, caller: Case['caller'] & object): Case[] {
  const all: readonly (readonly [string, Partial<Case>, CaseRequest, string])[] = [
    ['a recording', unary, playing('say one'), 'transcription'],
    ['live samples', streamed, streaming({}, new Uint8Array(2)), 'transcription'],
    ['speech', unary, speaking({ text: 'Hello.' }), 'speech'],
    ['a stream of texts', streamed, speakingEach({ text: 'Hello.' }), 'speech'],
  ];
  return all.map(([what, wires, request, operation]) => ({
    ...wires,
    what: `${code}: Riva, ${what}`,
    server: 'playing',
    caller,
    request,
    error: { code },
    records: [ended('refused', code, { operation })],
  }));
}

function failure(what: string, steps: readonly Step[], error: ExpectedError & { code: ErrorCode }): Case[] {
  const status = error.httpStatus === undefined ? {} : { http_status: error.httpStatus };
  const of = (operation: string) => ended('failed', error.code, { operation, fair_use_units: 0, ...status });
  const whole = { ...error, afterOutput: false };
  const shared = { server: 'playing' } as const;
  return [
    {
      ...unary,
      ...shared,
      what: `${error.code}: Riva, a recording, ${what}`,
      request: playing(...steps),
      error: whole,
      records: [of('transcription')],
    },
    {
      ...unary,
      ...shared,
      what: `${error.code}: Riva, speech, ${what}`,
      request: speaking({ text: play(...steps) }),
      error: whole,
      records: [of('speech')],
    },
    {
      ...streamed,
      ...shared,
      what: `${error.code}: Riva, a stream of texts, ${what}`,
      request: speakingEach({ text: play(...steps) }),
      error,
      records: [of('speech'), of('speech')],
    },
  ];
}

const others: Case[] = [
  ...declined('subscription_required', { trial: false }),
  ...declined('insufficient_scope', { scopes: ['chat'] }),
  ...declined('rate_limit_exceeded', { limits: { requests_per_minute: 0 } }),
  ...failure('the upstream says 429', ['fail upstream_error 429 7'], {
    code: 'upstream_error',
    httpStatus: 429,
    retryAfterSeconds: 7,
  }),
  ...failure('a fault of our own', ['crash'], { code: 'internal_error' }),
  ...failure('the engine breaks off', ['say okay', 'fail upstream_error'], {
    code: 'upstream_error',
    afterOutput: true,
  }),
  {
    ...unary,
    what: 'payload_too_large: Riva, a recording of more than 4 MB',
    server: 'playing',
    request: recognizing(Buffer.alloc(transcriptionBytesMax + 1)),
    error: { code: 'payload_too_large' },
    records: [ended('refused', 'payload_too_large', { operation: 'transcription' })],
  },
  {
    ...streamed,
    what: 'fair_use_limit_reached: Riva, the second text is more than the month allows',
    server: 'playing',
    request: speakingEach({ text: play('say okay') }, { text: 'x'.repeat(1_001) }),
    error: { code: 'fair_use_limit_reached', afterOutput: true },
    records: [
      ended('refused', 'fair_use_limit_reached', { fair_use_units: 0 }),
      spoken({ fair_use_units: 14 }),
      ended('refused', 'fair_use_limit_reached', { characters: 1_001 }),
    ],
  },
  {
    ...streamed,
    what: 'Riva: the client’s deadline in the middle of a text: the units of that text are charged',
    server: 'playing',
    request: speakingEach({ text: play('say okay', 'wait') }),
    timeoutMs: 1_500,
    error: { code: 'deadline_exceeded', afterOutput: true },
    records: [
      cancelled({ operation: 'speech', fair_use_units: 0 }),
      cancelled({ operation: 'speech', fair_use_units: play('say okay', 'wait').length }),
    ],
  },
];

export const rivaCases: readonly Case[] = [...recordings, ...texts, ...refusedTexts, ...others];
