/** Chats that are answered, and chats that are refused. */
import type { JsonObject } from '@bufbuild/protobuf';
import { expect } from 'vitest';
import { ChatService } from '../../gen/parley/chat/v1/chat_service_pb.ts';
import type { ErrorCode } from '../../src/core/values/errors.ts';
import { type Case, calling, ended, noRest } from './case.ts';
import { answered, bothWays, type Params, playing, saying, streamed, whole, worried } from './chat-calls.ts';
import { play } from './play.ts';

const { createChatCompletion } = ChatService.method;

const answers: Case[] = [
  ...bothWays((of, name) => ({ what: name, server: 'builtin', request: of(worried), records: answered() })),
  {
    what: 'chat, streamed, with its usage in a separate chunk',
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
    what: `${name}, with odd Unicode in parts`,
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
    what: 'chat returns the model’s answer, and the upstream’s count of its tokens',
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
  ...bothWays((of, name) => ({
    what: `${name}, from an engine that gives its answer no id`,
    server: 'playing',
    request: of(playing('unnamed', 'say one')),
    compare: headsOf,
    records: answered(),
  })),
  passedOn(),
];

/** The heads of an answer and its chunks. */
function headsOf(answer: unknown): unknown {
  const parts = answer as { completion?: JsonObject; chunk?: JsonObject }[];
  const heads = parts.map(({ completion, chunk }) => {
    const { id, object, created, model } = completion ?? chunk ?? {};
    return { id, object, created, model };
  });
  const [first] = heads;
  expect(first).toMatchObject({ id: '<chat>', created: '<chance>', model: 'eliza' });
  expect(first?.object).toMatch(/^chat\.completion(\.chunk)?$/);
  expect(heads).toEqual(heads.map(() => first));
  return first;
}

/** Every parameter reaches the model, also unknown ones, and its unknown fields come back. */
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
    what: 'chat passes every parameter on, also unknown ones',
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
    'longer than the model accepts',
    { model: 'eliza', messages: saying('hello '.repeat(5_000)) },
    'context_length_exceeded',
    'messages',
    'eliza',
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
  ...refusal('with less than a token', { ...worried, maxTokens: 0.5 }, 'invalid_parameter', 'max_tokens'),
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
  ...refusal('of nothing', { ...worried, messages: [] }, 'missing_messages', 'messages'),
  ...[
    ['temperature', { temperature: Number.NaN }],
    ['max_tokens', { maxTokens: Number.POSITIVE_INFINITY }],
    ['logit_bias.7', { logitBias: { 7: Number.NEGATIVE_INFINITY } }],
  ].flatMap(([param, params]) =>
    refusal(
      `with ${param} that JSON cannot express`,
      { ...worried, ...(params as object) },
      'invalid_parameter',
      String(param),
    ).map((row) => ({ ...row, notOn: noRest('JSON has no such numbers') })),
  ),
];

const overLimits: Case[] = bothWays((of, name) => ({
  what: `budget_exceeded: ${name} with a key that may spend nothing`,
  server: 'builtin' as const,
  caller: { limits: { budgets: { month: '0' } } },
  request: of(worried),
  error: { code: 'budget_exceeded' as const },
  records: [ended('refused', 'budget_exceeded', { operation: 'chat', model: 'eliza' })],
})).concat(
  bothWays((of, name) => ({
    what: `insufficient_scope: ${name} with a key for other models`,
    server: 'builtin',
    caller: { limits: { models: ['other-*'] } },
    request: of(worried),
    error: { code: 'insufficient_scope', param: 'model' },
    records: [ended('refused', 'insufficient_scope', { operation: 'chat', model: 'eliza' })],
  })),
);

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
    what: `${name} that is limited to the available credits`,
    server: 'builtin',
    // So long that on every wire it has more bytes than tokens.
    caller: { credits: '0.00006' },
    request: of({
      ...worried,
      messages: saying(`${'I am worried about my work and my friend. '.repeat(40)}`),
    }),
    records: answered(),
  })),
);

export const chatCases: readonly Case[] = [...answers, ...refusals, ...overLimits, ...declined];
