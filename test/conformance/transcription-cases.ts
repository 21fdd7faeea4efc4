import type { MessageInitShape } from '@bufbuild/protobuf';
import { expect } from 'vitest';
import type { CreateTranscriptionRequestSchema } from '../../gen/parley/audio/v1/transcription_pb.ts';
import { TranscriptionService } from '../../gen/parley/audio/v1/transcription_service_pb.ts';
import { transcriptionBytesMax } from '../../src/core/transcription/service.ts';
import type { ErrorCode } from '../../src/core/values/errors.ts';
import { wavFile } from '../support/audio-files.ts';
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
import { recording, type Step } from './play.ts';

type Recording = MessageInitShape<typeof CreateTranscriptionRequestSchema>;

const {
  createTranscription,
  streamTranscription,
  uploadTranscription,
  streamTranscribe,
  createClientSecret,
} = TranscriptionService.method;

const whole = (recording: Recording) => calling(createTranscription, recording);
const streamed = (transcription: Recording) => calling(streamTranscription, { transcription });

/** The file in chunks, after the rest of the request. */
function uploaded({ file, ...recording }: Recording, chunkBytes = 64 * 1024): CaseRequest {
  const bytes = file ?? new Uint8Array();
  const chunks = Array.from({ length: Math.ceil(bytes.length / chunkBytes) }, (_, index) =>
    bytes.subarray(index * chunkBytes, (index + 1) * chunkBytes),
  );
  return callingWith(uploadTranscription, [
    { part: { case: 'transcription', value: recording } },
    ...chunks.map((value) => ({ part: { case: 'chunk' as const, value } })),
  ]);
}

const onHttp2 = 'requests and answers at the same time need HTTP/2';
const live: Partial<Case> = {
  notOn: { ...noRest('live transcription has no REST path'), 'Connect JSON': onHttp2, 'gRPC-Web': onHttp2 },
  // A relay sends each turn as a file.
  isOfServer: true,
};

/** Samples as somebody speaks them, in one turn. */
function spoken(wav: Uint8Array): CaseRequest {
  const parts = [];
  for (let at = 44; at < wav.length; at += 3_200) {
    parts.push({ part: { case: 'audio' as const, value: wav.subarray(at, at + 3_200) } });
  }
  return callingWith(streamTranscribe, [{ part: { case: 'config', value: {} } }, ...parts]);
}

/** The ways to transcribe a recording. */
const ways: readonly { readonly name: string; readonly of: (recording: Recording) => CaseRequest }[] = [
  { name: 'transcription', of: whole },
  { name: 'transcription, streamed', of: streamed },
  { name: 'transcription, uploaded in chunks', of: uploaded },
];

const oneForm = noRest('an upload over REST is one form, which the case of plain transcription sends');
const playing = (...steps: readonly Step[]): Recording => ({ file: recording(...steps), fileName: 'a.wav' });

/** The same recording in every way. */
function everyWay(makeCase: (of: (recording: Recording) => CaseRequest, name: string) => Case): Case[] {
  return ways.map(({ name, of }) => ({ ...makeCase(of, name), ...(of === uploaded && { notOn: oneForm }) }));
}

const transcribed = (facts: Record<string, unknown> = {}) => [
  ok({ operation: 'transcription', model: 'pocketsphinx', ...facts }),
];

/** Cases that need a real recogniser. @param spokenWav a short sentence, as `wavFile` makes them */
export function recognitionCases(spokenWav: Uint8Array): Case[] {
  const silence = wavFile(new Int16Array(16_000));
  return [
    ...everyWay((of, name) => ({
      what: `${name} by a real recogniser`,
      server: 'builtin',
      request: of({ file: spokenWav, fileName: 'a.wav', model: 'whisper-1' }),
      records: transcribed({ fair_use_units: expectedUnits(spokenWav) }),
    })),
    {
      ...live,
      what: 'live transcription by a real recogniser',
      server: 'builtin',
      request: spoken(spokenWav),
      answer: [{ turn: { turn: 1, text: expect.stringMatching(/^hello,? my friend\.?$/i) } }],
      records: [
        ...transcribed({ fair_use_units: 0 }),
        ...transcribed({ fair_use_units: expectedUnits(spokenWav) }),
      ],
    },
    {
      what: 'silence is an empty transcript',
      server: 'builtin',
      request: whole({ file: silence, fileName: 'a.wav' }),
      answer: [{ transcript: { duration: 1 } }],
      records: transcribed({ audio_seconds_in: 1, fair_use_units: 15 }),
    },
    refusal('bytes that are no audio', { file: Buffer.alloc(2_000, 7) }, 'invalid_file', 'file'),
    refusal('an AIFF file', { file: aiffHeader }, 'unsupported_file_format', 'file'),
  ];
}

/** 15 units per started second, for 16-bit samples at 16 kHz after a header of 44 bytes. */
function expectedUnits(wav: Uint8Array): number {
  return Math.ceil((wav.length - 44) / 32_000) * 15;
}

const aiffHeader = Buffer.from('FORM\0\0\x07\xd0AIFFCOMM\0\0\0\x12'.padEnd(2_000, '\0'), 'latin1');

/** JSON leaves out an empty list. */
const withoutSegments = expect.not.objectContaining({ segments: expect.anything() });

const answers: Case[] = [
  ...everyWay((of, name) => ({
    what: `${name}, with the times of its segments`,
    server: 'playing',
    request: of(playing('hear 400', 'say one two', 'say three — “четыре” 🎉')),
    records: transcribed({ audio_seconds_in: 0.5, fair_use_units: 15 }),
  })),
  ...everyWay((of, name) => ({
    what: `${name}, with the times of its words`,
    server: 'playing',
    request: of({ ...playing('say one', 'say two'), timestampGranularities: ['word', 'segment'] }),
    records: transcribed(),
  })),
  ...everyWay((of, name) => ({
    what: `${name}, with the times of its words alone`,
    server: 'playing',
    request: of({ ...playing('say one', 'say two'), timestampGranularities: ['word'] }),
    ...(of !== streamed && { answer: [{ transcript: withoutSegments }] }),
    records: transcribed(),
  })),
  {
    what: 'transcription returns the text, the language and the length',
    server: 'playing',
    request: whole({ ...playing('say one', 'say two'), language: 'en' }),
    answer: [{ transcript: { text: 'one two', language: 'english', duration: 0.5 } }],
    records: transcribed(),
  },
];

function refusal(what: string, recording: Recording, code: ErrorCode, param: string): Case {
  return {
    what: `${code}: ${what}`,
    server: 'builtin',
    request: whole(recording),
    error: { code, param },
    records: [ended('refused', code, { operation: 'transcription' })],
  };
}

const liveRefusals: Case[] = [
  {
    ...live,
    what: 'subscription_required: live transcription without a plan',
    server: 'builtin',
    caller: { trial: false },
    request: callingWith(streamTranscribe, [{ part: { case: 'config', value: {} } }]),
    error: { code: 'subscription_required' },
    records: [ended('refused', 'subscription_required', { operation: 'transcription' })],
  },
  {
    ...live,
    what: 'invalid_input: live audio before the configuration',
    server: 'builtin',
    request: callingWith(streamTranscribe, [{ part: { case: 'audio', value: new Uint8Array(2) } }]),
    error: { code: 'invalid_input', param: 'config' },
    records: [ended('refused', 'invalid_input', { operation: 'transcription' })],
  },
];

const tooLarge = Buffer.alloc(transcriptionBytesMax + 1);

const refusals: Case[] = [
  ...everyWay((of, name) => ({
    ...refusal(`${name} without a file`, {}, 'missing_file', 'file'),
    request: of({ model: 'x' }),
  })),
  refusal(
    'over 1,000 keywords',
    { ...playing('say one'), keywords: Array.from({ length: 1_201 }, (_, index) => `k${index}`) },
    'invalid_input',
    'keywords',
  ),
  refusal('an empty file', { file: new Uint8Array() }, 'invalid_file', 'file'),
  {
    ...refusal(
      'times of what there is not',
      { ...playing('say one'), timestampGranularities: ['letter'] },
      'invalid_input',
      'timestamp_granularities',
    ),
    server: 'playing',
  },
  ...everyWay((of, name) => ({
    what: `payload_too_large: ${name} of more than 4 MB`,
    server: 'playing',
    request: of({ file: tooLarge }),
    error: { code: 'payload_too_large' },
    records: [ended('refused', 'payload_too_large', { operation: 'transcription' })],
  })),
  ...everyWay((of, name) => ({
    what: `engine_unavailable: ${name} without a model for it`,
    server: 'strict',
    request: of(playing('say one')),
    error: { code: 'engine_unavailable' },
    records: [ended('failed', 'engine_unavailable', { operation: 'transcription' })],
  })),
  {
    ...refusal('what is wrong with a request is told before what is wrong here', {}, 'missing_file', 'file'),
    server: 'strict',
  },
];

const declined: Case[] = [
  ...everyWay((of, name) => ({
    what: `subscription_required: ${name} without a plan`,
    server: 'playing',
    caller: { trial: false },
    request: of(playing('say one')),
    error: { code: 'subscription_required' },
    records: [ended('refused', 'subscription_required', { operation: 'transcription' })],
  })),
  {
    what: 'insufficient_scope: transcription with a key for speech',
    server: 'playing',
    caller: { scopes: ['speech'] },
    request: whole(playing('say one')),
    error: { code: 'insufficient_scope' },
    records: [ended('refused', 'insufficient_scope', { operation: 'transcription' })],
  },
  ...everyWay((of, name) => ({
    what: `fair_use_limit_reached: ${name} of more than the month allows`,
    server: 'playing',
    request: of(playing('hear 3600000', 'say one')),
    error: { code: 'fair_use_limit_reached' },
    records: [ended('refused', 'fair_use_limit_reached', { audio_seconds_in: 3600, fair_use_units: 0 })],
  })),
];

function failure(what: string, steps: readonly Step[], error: ExpectedError & { code: ErrorCode }): Case[] {
  const facts = { operation: 'transcription', model: 'pocketsphinx', fair_use_units: 0 };
  const status = error.httpStatus === undefined ? {} : { http_status: error.httpStatus };
  return everyWay((of, name) => ({
    what: `${error.code}: ${name}, ${what}`,
    server: 'playing',
    request: of(playing(...steps)),
    error: of === streamed ? error : { ...error, afterOutput: false },
    records: [ended('failed', error.code, { ...facts, ...status })],
  }));
}

const secrets: Case[] = [
  {
    what: 'a secret for a browser, with the settings of its sessions',
    server: 'builtin',
    request: calling(createClientSecret, { expiresAfter: { seconds: 30 }, session: { type: 'realtime' } }),
    // Each is another one.
    compare: (answer) => (answer as readonly object[]).map((one) => ({ ...one, value: '', expires_at: 0 })),
    records: [ok({ operation: 'transcription' })],
  },
  {
    what: 'invalid_parameter: a secret that lasts for a day',
    server: 'builtin',
    request: calling(createClientSecret, { expiresAfter: { seconds: 86_400 } }),
    error: { code: 'invalid_parameter', param: 'expires_after.seconds' },
    records: [ended('refused', 'invalid_parameter')],
  },
];

const failures: Case[] = [
  ...failure('the upstream says 429', ['fail upstream_error 429 7'], {
    code: 'upstream_error',
    httpStatus: 429,
    retryAfterSeconds: 7,
  }),
  ...failure('the queue is full', ['fail overloaded - 5'], { code: 'overloaded', retryAfterSeconds: 5 }),
  ...failure('a fault of our own', ['crash'], { code: 'internal_error' }),
  ...failure('the engine breaks off', ['say one', 'break off'], {
    code: 'upstream_error',
    afterOutput: true,
  }),
];

const deadlines: Case[] = [
  ...everyWay((of, name) => ({
    what: `the client’s deadline before any output of a ${name}: nothing is charged`,
    server: 'playing',
    request: of(playing('hear 2000', 'wait')),
    timeoutMs: 1000,
    error: { code: 'deadline_exceeded' },
    records: [cancelled({ operation: 'transcription', audio_seconds_in: 2, fair_use_units: 0 })],
  })),
  {
    what: 'the client’s deadline in the middle of a streamed transcription: the units so far are charged',
    server: 'playing',
    request: streamed(playing('hear 2000', 'say one', 'wait')),
    timeoutMs: 1000,
    error: { code: 'deadline_exceeded' },
    records: [cancelled({ operation: 'transcription', audio_seconds_in: 2, fair_use_units: 30 })],
  },
];

const repetitions: Case[] = [
  {
    what: 'transcription that is repeated under the same Idempotency-Key',
    server: 'playing',
    idempotencyKey: 'again',
    before: [whole(playing('say one'))],
    request: whole(playing('say one')),
    answer: [{ transcript: { text: 'one' } }],
    records: [...transcribed(), { state: 'replayed', http_status: 200, model: 'pocketsphinx' }],
  },
  {
    what: 'a failure frees the Idempotency-Key',
    server: 'playing',
    idempotencyKey: 'again',
    before: [whole(playing('fail upstream_error'))],
    request: whole(playing('say two')),
    answer: [{ transcript: { text: 'two' } }],
    records: [ended('failed', 'upstream_error'), ...transcribed()],
  },
];

export const transcriptionCases: readonly Case[] = [
  ...answers,
  ...refusals,
  ...liveRefusals,
  ...secrets,
  ...declined,
  ...failures,
  ...deadlines,
  ...repetitions,
];
