import type { JsonObject, MessageInitShape } from '@bufbuild/protobuf';
import type { ChatCompletionParamsSchema } from '../../gen/parley/chat/v1/chat_pb.ts';
import { ChatService } from '../../gen/parley/chat/v1/chat_service_pb.ts';
import { type ErrorCode, errorTable } from '../../src/core/errors.ts';
import {
  type Case,
  type CaseRequest,
  calling,
  cancelled,
  type ExpectedError,
  ended,
  noRest,
  ok,
} from './case.ts';
import { play, type Step } from './play.ts';

type Params = MessageInitShape<typeof ChatCompletionParamsSchema>;

const { createChatCompletion, streamChatCompletion } = ChatService.method;

const saying = (value: string) => [{ role: 'user', content: { value: { case: 'text' as const, value } } }];
const worried: Params = { model: 'eliza', messages: saying('I am worried about my work.') };
const playing = (...steps: readonly Step[]): Params => ({ model: 'eliza', messages: saying(play(...steps)) });

const whole = (params: Params) => calling(createChatCompletion, { params });
const streamed = (params: Params) => calling(streamChatCompletion, { params });

/** The same conversation, answered at once and streamed. */
function bothWays(makeCase: (of: (params: Params) => CaseRequest, name: string) => Case): Case[] {
  return [makeCase(whole, 'chat'), makeCase(streamed, 'chat, streamed')];
}

const aCost = { cost_nano_credits: expectAnyCost() };
const reported = { tokens_source: 'reported', ...aCost };

function expectAnyCost(): unknown {
  return { asymmetricMatch: (cost: unknown) => Number(cost) > 0, toString: () => 'a cost' };
}

const answered = (facts: Record<string, unknown> = {}) => [
  ok({ operation: 'chat', model: 'eliza', ...reported, ...facts }),
];

const answers: Case[] = [
  ...bothWays((of, name) => ({ what: name, server: 'builtin', request: of(worried), records: answered() })),
  {
    what: 'chat, streamed, with its usage in a chunk of its own',
    server: 'builtin',
    request: streamed({ ...worried, streamOptions: { includeUsage: true } }),
    records: answered(),
  },
  ...bothWays((of, name) => ({
    what: `${name}, with several answers, a limit and stops`,
    server: 'builtin',
    request: of({
      ...worried,
      n: 3,
      maxTokens: 4,
      stop: { value: { case: 'list', value: { items: ['?', '.'] } } },
    }),
    records: answered(),
  })),
  ...bothWays((of, name) => ({
    what: `${name}, of odd Unicode in parts`,
    server: 'builtin',
    request: of({
      model: 'eliza',
      messages: [
        {
          role: 'user',
          content: {
            value: {
              case: 'parts',
              value: {
                items: ['🎉 \u202e\0\ufeff', 'I need “Ünïcödé” e\u0301 \u{1f468}\u200d\u{1f469}'].map(
                  (text) => ({ type: 'text', text }),
                ),
              },
            },
          },
        },
      ],
    }),
    records: answered(),
  })),
  ...bothWays((of, name) => ({
    what: `${name} without a plan`,
    server: 'builtin',
    caller: { trial: false },
    request: of(worried),
    records: answered(),
  })),
  {
    what: 'chat hands the answer of the model on, and its own count of the tokens',
    server: 'playing',
    request: whole(playing('say one ', 'say two')),
    answer: [
      {
        completion: {
          model: 'eliza',
          choices: [{ message: { role: 'assistant', content: { text: 'one two' } }, finish_reason: 'stop' }],
          usage: { prompt_tokens: 7, completion_tokens: 3, total_tokens: 10 },
        },
      },
    ],
    records: answered({ prompt_tokens: 7, completion_tokens: 3, cost_nano_credits: 1900 }),
  },
  passedOn(),
];

/** Every parameter reaches the model, those that the schema does not name too, and its unknown fields come back. */
function passedOn(): Case {
  const other: JsonObject = {
    future: { nested: [1.5, null, { a: '🎉' }] },
    null_setting: null,
    'odd name!': [],
  };
  const params: Params = {
    model: 'eliza',
    messages: [
      {
        role: 'system',
        content: { value: { case: 'text', value: 'Be brief.' } },
        other: { cache: { ttl: 5 } },
      },
      ...saying(play('say one')),
    ],
    temperature: 0.25,
    topP: 1,
    seed: 2 ** 53,
    frequencyPenalty: -0.5,
    logitBias: { '50256': -100 },
    tools: [
      {
        type: 'function',
        function: {
          name: 'look_up',
          parameters: { type: 'object', properties: { x: { type: ['string', 'null'] } } },
        },
      },
    ],
    toolChoice: { kind: { case: 'stringValue', value: 'auto' } },
    metadata: { trace: 'a' },
    other,
  };
  const seen = { temperature: 0.25, top_p: 1, seed: 2 ** 53, logit_bias: { '50256': -100 }, other };
  return {
    what: 'chat hands every parameter on, also those that it has never heard of',
    server: 'playing',
    request: whole(params),
    answer: [{ completion: { other: { seen } } }],
    records: answered(),
  };
}

function refusal(what: string, params: Params, code: ErrorCode, param: string, model?: string): Case[] {
  return bothWays((of, name) => ({
    what: `${code}: ${name}, ${what}`,
    server: 'builtin',
    request: of(params),
    error: { code, param },
    records: [ended('refused', code, { operation: 'chat', ...(model !== undefined && { model }) })],
  }));
}

const refusals: Case[] = [
  ...refusal('without a model', { messages: saying('x') }, 'missing_model', 'model'),
  ...refusal('without messages', { model: 'eliza' }, 'missing_messages', 'messages', 'eliza'),
  ...refusal(
    'a message without a role',
    { model: 'eliza', messages: [...saying('x'), { other: { content_type: 'x' } }] },
    'invalid_messages',
    'messages[1].role',
  ),
  ...refusal(
    'of a model that there is not',
    { ...worried, model: 'gpt-4o' },
    'unknown_model',
    'model',
    'gpt-4o',
  ),
  ...refusal('of a speech model', { ...worried, model: 'flite' }, 'unknown_model', 'model', 'flite'),
  ...refusal('with a blank model', { ...worried, model: ' ' }, 'invalid_parameter', 'model'),
  ...refusal('with no room for an answer', { ...worried, maxTokens: 0 }, 'invalid_parameter', 'max_tokens'),
  ...refusal(
    'with half a token',
    { ...worried, maxCompletionTokens: 1.5 },
    'invalid_parameter',
    'max_completion_tokens',
  ),
  ...refusal('with too many answers', { ...worried, n: 129 }, 'invalid_parameter', 'n'),
  {
    what: 'missing_model: chat without parameters',
    server: 'builtin',
    request: calling(createChatCompletion, {}),
    error: { code: 'missing_model', param: 'model' },
    records: [ended('refused', 'missing_model')],
    notOn: noRest('the parameters are the body itself; its absence is a body that is not JSON'),
  },
];

const declined: Case[] = bothWays((of, name) => ({
  what: `insufficient_credits: ${name} with an empty account`,
  server: 'builtin',
  caller: { credits: '0' },
  request: of(worried),
  error: { code: 'insufficient_credits' },
  records: [ended('refused', 'insufficient_credits', { operation: 'chat', model: 'eliza' })],
})).concat(
  bothWays((of, name) => ({
    what: `insufficient_scope: ${name} with a key for speech`,
    server: 'builtin',
    caller: { scopes: ['speech'] },
    request: of(worried),
    error: { code: 'insufficient_scope' },
    records: [ended('refused', 'insufficient_scope', { operation: 'chat' })],
  })),
  bothWays((of, name) => ({
    what: `${name} that is cut to what the credits cover`,
    server: 'builtin',
    // So much text that its count is less than its bytes, however a wire writes it.
    caller: { credits: '0.00006' },
    request: of({
      ...worried,
      messages: saying(`${'I am worried about my work and my friend. '.repeat(40)}`),
    }),
    records: answered(),
  })),
);

function failure(what: string, steps: readonly Step[], error: ExpectedError & { code: ErrorCode }): Case[] {
  return bothWays((of, name) => ({
    what: `${error.code}: ${name}, ${what}`,
    server: 'playing',
    request: of(playing(...steps)),
    // The role has gone out before.
    error: of === streamed ? { code: error.code, afterOutput: true } : error,
    records: [
      ended('failed', error.code, {
        model: 'eliza',
        http_status: error.httpStatus ?? errorTable[error.code].http,
      }),
    ],
  }));
}

const failures: Case[] = [
  ...failure('the upstream cannot be reached', ['fail upstream_error'], { code: 'upstream_error' }),
  ...failure('the upstream says 429', ['fail upstream_error 429 7'], {
    ...{ code: 'upstream_error', httpStatus: 429, retryAfterSeconds: 7 },
  }),
  ...failure('the upstream wants to be paid', ['fail upstream_error 402'], {
    ...{ code: 'upstream_error', httpStatus: 402 },
  }),
  ...failure('there is no room', ['fail overloaded - 5'], { code: 'overloaded', retryAfterSeconds: 5 }),
  ...failure('a fault of our own', ['crash'], { code: 'internal_error' }),
  ...failure('the engine fails in its middle', ['say one', 'fail upstream_error'], {
    code: 'upstream_error',
  }),
  ...failure('the answer has no end', ['say one', 'break off'], { code: 'upstream_error' }),
  {
    what: 'overloaded: chat that takes too long',
    server: 'strict',
    request: whole(playing('wait')),
    error: { code: 'overloaded', retryAfterSeconds: 10 },
    records: [ended('failed', 'overloaded', { model: 'eliza' })],
  },
];

const deadlines: Case[] = [
  ...bothWays((of, name) => ({
    what: `the client’s deadline before any of a ${name}: nothing is charged`,
    server: 'playing',
    request: of(playing('wait')),
    timeoutMs: 500,
    error: { code: 'deadline_exceeded' },
    records: [cancelled({ operation: 'chat', model: 'eliza' })],
  })),
  {
    what: 'the client’s deadline in the middle of a streamed chat: the prompt and what was produced',
    server: 'playing',
    request: streamed(playing('say one two', 'wait')),
    timeoutMs: 1000,
    error: { code: 'deadline_exceeded' },
    records: [cancelled({ operation: 'chat', completion_tokens: 2, tokens_source: 'estimated', ...aCost })],
  },
  {
    what: 'the client’s deadline in the middle of a chat: a plain answer has sent nothing',
    server: 'playing',
    request: whole(playing('say one two', 'wait')),
    timeoutMs: 500,
    error: { code: 'deadline_exceeded' },
    records: [cancelled({ operation: 'chat' })],
  },
];

const again = { server: 'playing', idempotencyKey: 'again' } as const;

const repetitions: Case[] = [
  {
    ...again,
    what: 'chat that is asked for again under the same Idempotency-Key',
    before: [whole(playing('say one'))],
    request: whole(playing('say one')),
    records: [...answered(), { state: 'replayed', http_status: 200, model: 'eliza' }],
  },
  {
    ...again,
    what: 'idempotency_conflict: another chat under the same Idempotency-Key',
    before: [whole(playing('say one'))],
    request: whole(playing('say two')),
    error: { code: 'idempotency_conflict' },
    records: [...answered(), ended('refused', 'idempotency_conflict', { model: 'eliza' })],
  },
  {
    ...again,
    what: 'idempotency_conflict: a chat whose first request still runs',
    meanwhile: whole(playing('wait')),
    request: whole(playing('wait')),
    error: { code: 'idempotency_conflict', retryAfterSeconds: 1 },
    records: [cancelled({ model: 'eliza' }), ended('refused', 'idempotency_conflict', { model: 'eliza' })],
  },
  {
    ...again,
    what: 'streamed chats do not heed the Idempotency-Key',
    before: [streamed(playing('say one'))],
    request: streamed(playing('say two')),
    records: [...answered(), ...answered()],
  },
  {
    ...again,
    what: 'invalid_parameter: an Idempotency-Key that is too long',
    idempotencyKey: 'k'.repeat(256),
    request: whole(playing('say one')),
    error: { code: 'invalid_parameter', param: 'Idempotency-Key' },
    records: [ended('refused', 'invalid_parameter', { model: 'eliza' })],
  },
];

export const chatCases: readonly Case[] = [
  ...answers,
  ...refusals,
  ...declined,
  ...failures,
  ...deadlines,
  ...repetitions,
];
