import { SpeechService } from '../../gen/parley/speech/v1/speech_service_pb.ts';
import type { ErrorCode, GrpcCode } from '../../src/core/values/errors.ts';
import { type Case, type CaseRequest, calling, cancelled, type ExpectedError, ended, ok } from './case.ts';
import { play, type Step } from './play.ts';
import { trialUnits } from './servers.ts';

type Speech = Partial<Record<'model' | 'input' | 'voice' | 'responseFormat', string | undefined>>;

const hello = 'Hello there, friend.';
/** The limit of the contract. */
const charactersMax = 4_000;

/** A field that is undefined is left out. */
function speaking(fields: Speech): CaseRequest {
  const all = Object.entries({ model: 'flite', input: hello, ...fields });
  const given = all.filter(([, value]) => value !== undefined);
  return calling(SpeechService.method.synthesizeSpeech, Object.fromEntries(given));
}

const playing = (...steps: readonly Step[]) => speaking({ input: play(...steps), responseFormat: 'pcm' });

const spoken = (facts: Record<string, unknown> = {}) => [
  ok({ operation: 'speech', model: 'flite', ...facts }),
];

const formats: readonly [string, string][] = [
  ['mp3', 'audio/mpeg'],
  ['opus', 'audio/ogg'],
  ['flac', 'audio/flac'],
  ['wav', 'audio/wav'],
  ['pcm', 'audio/pcm'],
];

const script = play('say ok');
const ofEmoji = (characters: number) => `${script}; ${'🎉'.repeat(characters - script.length - 2)}`;

const answers: Case[] = [
  ...formats.map(
    ([responseFormat, contentType]): Case => ({
      what: `speech as ${responseFormat}`,
      server: 'builtin',
      request: speaking({ responseFormat }),
      answer: { contentType },
      records: spoken({ characters: hello.length, fair_use_units: hello.length }),
    }),
  ),
  {
    what: 'speech in the default format and voice',
    server: 'builtin',
    request: speaking({}),
    answer: { contentType: 'audio/mpeg' },
    records: spoken(),
  },
  {
    what: 'speech in another voice',
    server: 'builtin',
    request: speaking({ voice: 'kal16', responseFormat: 'wav' }),
    answer: { contentType: 'audio/wav' },
    records: spoken(),
  },
  {
    what: 'speech of text with odd Unicode',
    server: 'builtin',
    request: speaking({
      input: '🎉 Ünïcödé — “quotes” \u202e\ufdfd e\u0301 \u{1f468}\u200d\u{1f469}\0\ufeff one.',
      responseFormat: 'pcm',
    }),
    records: spoken({ characters: 37 }),
  },
  {
    what: 'speech of as many code points as are spoken at once',
    server: 'strict',
    request: speaking({ input: ofEmoji(charactersMax), responseFormat: 'pcm' }),
    answer: { bytes: 2 },
    records: spoken({ characters: charactersMax, fair_use_units: charactersMax }),
  },
];

/** A request that is refused for an invalid field. */
function refusal(
  what: string,
  fields: Speech,
  code: ErrorCode,
  param: string,
  facts: Record<string, unknown> = {},
): Case {
  return {
    what: `${code}: ${what}`,
    server: 'builtin',
    request: speaking(fields),
    error: { code, param },
    records: [ended('refused', code, { operation: 'speech', ...facts })],
  };
}

const refusals: Case[] = [
  refusal('speech without a model', { model: undefined }, 'missing_model', 'model'),
  refusal('speech without a text', { input: undefined }, 'missing_input', 'input', { model: 'flite' }),
  refusal('speech of nothing', { input: '' }, 'invalid_input', 'input'),
  refusal('speech of blanks', { input: ' \n\t' }, 'invalid_input', 'input'),
  refusal('speech of what cannot be said', { input: '…!?' }, 'invalid_input', 'input'),
  refusal('speech with a blank model', { model: ' ' }, 'invalid_input', 'model'),
  refusal('speech with a blank voice', { voice: '' }, 'invalid_input', 'voice'),
  refusal('speech of a model that there is not', { model: 'tts-1' }, 'unknown_model', 'model', {
    model: 'tts-1',
  }),
  refusal('speech of a chat model', { model: 'eliza' }, 'unknown_model', 'model', { model: 'eliza' }),
  refusal('one code point too many', { input: ofEmoji(charactersMax + 1) }, 'input_too_long', 'input'),
  refusal(
    ...(['speech in a blank format', { responseFormat: '' }, 'unsupported_response_format'] as const),
    'response_format',
  ),
  refusal('speech as aac', { responseFormat: 'aac' }, 'unsupported_response_format', 'response_format'),
  refusal('speech in a voice that there is not', { voice: 'alloy' }, 'unknown_voice', 'voice'),
  refusal(
    'several faults, told in the order of the contract',
    { model: 'tts-1', input: ' ', voice: 'x' },
    'invalid_input',
    'input',
  ),
];

const tooDear = 'x'.repeat(trialUnits + 1);

const declined: Case[] = [
  {
    what: 'subscription_required: speech without a plan, whatever the credits',
    server: 'builtin',
    caller: { trial: false },
    request: speaking({}),
    error: { code: 'subscription_required' },
    records: [ended('refused', 'subscription_required', { operation: 'speech' })],
  },
  {
    what: 'insufficient_scope: speech with a key for chat',
    server: 'builtin',
    caller: { scopes: ['chat'] },
    request: speaking({}),
    error: { code: 'insufficient_scope' },
    records: [ended('refused', 'insufficient_scope', { operation: 'speech' })],
  },
  {
    what: 'rate_limit_exceeded: speech of more characters than the key may speak per day',
    server: 'builtin',
    caller: { limits: { characters_per_day: 1 } },
    request: speaking({}),
    error: { code: 'rate_limit_exceeded' },
    records: [ended('refused', 'rate_limit_exceeded', { model: 'flite' })],
  },
  {
    what: 'rate_limit_exceeded: speech with a key that may send no requests',
    server: 'builtin',
    caller: { limits: { requests_per_minute: 0 } },
    request: speaking({}),
    error: { code: 'rate_limit_exceeded' },
    records: [ended('refused', 'rate_limit_exceeded', { operation: 'speech' })],
  },
  {
    what: 'fair_use_limit_reached: speech of more than the month allows',
    server: 'playing',
    request: speaking({ input: tooDear }),
    error: { code: 'fair_use_limit_reached' },
    records: [ended('refused', 'fair_use_limit_reached', { model: 'flite', characters: tooDear.length })],
  },
];

/** A failure of the engine. */
function failure(what: string, steps: readonly Step[], error: ExpectedError & { code: ErrorCode }): Case {
  const status = error.httpStatus === undefined ? {} : { http_status: error.httpStatus };
  return {
    what: `${error.code}: ${what}`,
    server: 'playing',
    request: playing(...steps),
    error,
    records: [
      ended('failed', error.code, { operation: 'speech', model: 'flite', fair_use_units: 0, ...status }),
    ],
  };
}

/** A retry policy for UNAVAILABLE repeats only calls that may succeed. */
const upstreamStatuses: readonly [number, GrpcCode][] = [
  [400, 'INVALID_ARGUMENT'],
  [401, 'FAILED_PRECONDITION'],
  [402, 'FAILED_PRECONDITION'],
  [403, 'FAILED_PRECONDITION'],
  [404, 'NOT_FOUND'],
  [408, 'UNAVAILABLE'],
  [422, 'INVALID_ARGUMENT'],
  [500, 'UNAVAILABLE'],
  [503, 'UNAVAILABLE'],
];

const failures: Case[] = [
  failure('speech whose engine cannot be reached', ['fail upstream_error'], { code: 'upstream_error' }),
  failure('speech whose upstream says 429', ['fail upstream_error 429 7'], {
    code: 'upstream_error',
    httpStatus: 429,
    retryAfterSeconds: 7,
    grpc: 'RESOURCE_EXHAUSTED',
  }),
  ...upstreamStatuses.map(([httpStatus, grpc]) =>
    failure(`speech whose upstream says ${httpStatus}`, [`fail upstream_error ${httpStatus}`], {
      code: 'upstream_error',
      httpStatus,
      grpc,
    }),
  ),
  failure('speech that the engine has no room for', ['fail overloaded - 5'], {
    code: 'overloaded',
    httpStatus: 503,
    retryAfterSeconds: 5,
  }),
  failure('a fault of our own in speech', ['crash'], { code: 'internal_error' }),
  failure('speech that comes to nothing', ['break off'], { code: 'upstream_error' }),
  failure('speech that fails after its first part', ['say one', 'fail upstream_error'], {
    code: 'upstream_error',
    afterOutput: true,
  }),
  {
    ...failure('speech that takes too long', ['wait'], { code: 'overloaded', retryAfterSeconds: 10 }),
    server: 'strict',
  },
];

const deadlines: Case[] = [
  {
    what: 'the client’s deadline before any speech: nothing is charged',
    server: 'playing',
    request: playing('wait'),
    timeoutMs: 1000,
    error: { code: 'deadline_exceeded' },
    records: [cancelled({ operation: 'speech', model: 'flite', fair_use_units: 0 })],
  },
  {
    what: 'the client’s deadline in the middle of speech: the units of the whole input are charged',
    server: 'playing',
    request: playing('say one', 'wait'),
    timeoutMs: 1500,
    error: { code: 'deadline_exceeded', afterOutput: true },
    records: [cancelled({ operation: 'speech', fair_use_units: play('say one', 'wait').length })],
  },
];

const repetitions: Case[] = [
  {
    what: 'speech that is repeated under the same Idempotency-Key',
    server: 'builtin',
    idempotencyKey: 'again',
    before: [speaking({ responseFormat: 'wav' })],
    request: speaking({ responseFormat: 'wav' }),
    answer: { contentType: 'audio/wav' },
    records: [
      ...spoken({ fair_use_units: hello.length }),
      { state: 'replayed', http_status: 200, operation: 'speech', model: 'flite' },
    ],
  },
  {
    what: 'idempotency_conflict: other speech under the same Idempotency-Key',
    server: 'builtin',
    idempotencyKey: 'again',
    before: [speaking({ responseFormat: 'pcm' })],
    request: speaking({ responseFormat: 'wav' }),
    error: { code: 'idempotency_conflict' },
    records: [...spoken(), ended('refused', 'idempotency_conflict', { operation: 'speech' })],
  },
];

export const speechCases: readonly Case[] = [
  ...answers,
  ...refusals,
  ...declined,
  ...failures,
  ...deadlines,
  ...repetitions,
];
