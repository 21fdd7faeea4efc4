/** Chats in the form of the Messages API: answered, refused, failed, cancelled and repeated. */
import type { MessageInitShape } from '@bufbuild/protobuf';
import type { MessageParamsSchema } from '../../gen/parley/messages/v1/messages_pb.ts';
import { MessagesService } from '../../gen/parley/messages/v1/messages_service_pb.ts';
import { type ErrorCode, errorTable } from '../../src/core/values/errors.ts';
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
import { aCost, answered } from './chat-calls.ts';
import { play, type Step } from './play.ts';

type Params = MessageInitShape<typeof MessageParamsSchema>;

const { createMessage, streamMessage, countMessageTokens } = MessagesService.method;
const whole = (params: Params) => calling(createMessage, { params });
const streamed = (params: Params) => calling(streamMessage, { params });
const counted = (params: Params) => calling(countMessageTokens, { params });

function bothWays(makeCase: (of: (params: Params) => CaseRequest, name: string) => Case): Case[] {
  return [makeCase(whole, 'a message'), makeCase(streamed, 'a message, streamed')];
}

const text = (value: string) => ({ value: { case: 'text' as const, value } });
const saying = (value: string) => [{ role: 'user', content: text(value) }];
const worried = { model: 'eliza', messages: saying('I am worried about my work.') } satisfies Params;
const playing = (...steps: readonly Step[]): Params => ({ model: 'eliza', messages: saying(play(...steps)) });

const head = { id: '<msg>', type: 'message', role: 'assistant', model: 'eliza' };
const usage = { input_tokens: 7, output_tokens: 3 };
const paid = answered({ prompt_tokens: 7, completion_tokens: 3, cost_nano_credits: 1900 });

const answers: Case[] = [
  ...bothWays((of, name) => ({ what: name, server: 'builtin', request: of(worried), records: answered() })),
  {
    what: 'a message has the answer of the model, and the upstream’s count of its tokens',
    server: 'playing',
    request: whole({
      model: 'eliza',
      messages: saying(play('say one ', 'say two')),
      system: text('Be brief.'),
    }),
    answer: [
      { message: { ...head, content: [{ type: 'text', text: 'one two' }], stop_reason: 'end_turn', usage } },
    ],
    records: paid,
  },
  {
    what: 'a message, streamed, opens, fills and closes its block in order',
    server: 'playing',
    request: streamed(playing('say one ', 'say two')),
    answer: [
      { type: 'message_start', message: { ...head, usage: {} } },
      { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
      { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'one ' } },
      { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'two' } },
      { type: 'content_block_stop', index: 0 },
      { type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage },
      { type: 'message_stop' },
    ].map((event) => ({ event })),
    records: paid,
  },
  ...bothWays((of, name) => ({
    what: `${name}, of a conversation with calls`,
    server: 'playing',
    request: of({
      model: 'eliza',
      maxTokens: 100,
      messages: [
        { role: 'user', content: text('What is the weather?') },
        {
          role: 'assistant',
          content: {
            value: {
              case: 'blocks',
              value: { items: [{ type: 'tool_use', id: 'a', name: 'look_up', input: { city: 'Oslo' } }] },
            },
          },
        },
        {
          role: 'user',
          content: {
            value: {
              case: 'blocks',
              value: {
                items: [
                  { type: 'tool_result', toolUseId: 'a', content: text('rain') },
                  { type: 'text', text: play('say one') },
                ],
              },
            },
          },
        },
      ],
      tools: [{ name: 'look_up', inputSchema: { type: 'object', properties: {} } }],
      toolChoice: { type: 'none' },
      stopSequences: ['END'],
    }),
    records: answered(),
  })),
  {
    what: 'a count of a message’s tokens, without a call of the model',
    server: 'builtin',
    // Without credits.
    caller: { credits: '0' },
    request: counted(worried),
    records: [ok({ operation: 'chat', model: 'eliza' })],
  },
];

function refusal(what: string, params: Params, code: ErrorCode, param: string): Case[] {
  const { model } = params;
  const refused = (name: string, request: CaseRequest): Case => ({
    what: `${code}: ${name}, ${what}`,
    server: 'builtin',
    request,
    error: { code, param },
    records: [ended('refused', code, { operation: 'chat', ...(model && { model }) })],
  });
  return [
    ...bothWays((of, name) => refused(name, of(params))),
    refused('a count of tokens', counted(params)),
  ];
}

const { messages } = worried;

const refusals: Case[] = [
  ...refusal('without a model', { messages }, 'missing_model', 'model'),
  ...refusal('without messages', { model: 'eliza' }, 'missing_messages', 'messages'),
  ...refusal(
    'of a role that there is not',
    { model: 'eliza', messages: [{ role: 'tool', content: text('x') }] },
    'invalid_messages',
    'messages[0].role',
  ),
  ...refusal(
    'without content',
    { model: 'eliza', messages: [{ role: 'user' }] },
    'invalid_messages',
    'messages[0].content',
  ),
  ...refusal('of a model that there is not', { ...worried, model: 'gpt-4o' }, 'unknown_model', 'model'),
  ...refusal('with half a token', { ...worried, maxTokens: 1.5 }, 'invalid_parameter', 'max_tokens'),
  ...refusal(
    'that must use a tool of another server',
    {
      ...worried,
      tools: [{ type: 'web_search_20250305', name: 'web_search' }],
      toolChoice: { type: 'tool', name: 'web_search' },
    },
    'invalid_parameter',
    'tool_choice',
  ),
  ...refusal(
    'that must use a tool without a name',
    { ...worried, toolChoice: { type: 'tool' } },
    'invalid_parameter',
    'tool_choice',
  ),
  ...refusal(
    'in a format that there is not',
    { ...worried, outputConfig: { format: { type: 'grammar' } } },
    'invalid_parameter',
    'output_config.format.type',
  ),
  {
    what: 'missing_model: a message without parameters',
    server: 'builtin',
    request: calling(createMessage, {}),
    error: { code: 'missing_model', param: 'model' },
    records: [ended('refused', 'missing_model')],
    notOn: noRest('the parameters are the body itself; its absence is a body that is not JSON'),
  },
  ...bothWays((of, name) => ({
    what: `insufficient_credits: ${name} with an empty account`,
    server: 'builtin',
    caller: { credits: '0' },
    request: of(worried),
    error: { code: 'insufficient_credits' },
    records: [ended('refused', 'insufficient_credits', { operation: 'chat', model: 'eliza' })],
  })),
  ...[whole, streamed, counted].map((of): Case => {
    const request = of(worried);
    return {
      what: `insufficient_scope: ${request.method.name} with a key for speech`,
      server: 'builtin',
      caller: { scopes: ['speech'] },
      request,
      error: { code: 'insufficient_scope' },
      records: [ended('refused', 'insufficient_scope', { operation: 'chat' })],
    };
  }),
];

function failure(what: string, steps: readonly Step[], error: ExpectedError & { code: ErrorCode }): Case[] {
  const httpStatus = error.httpStatus ?? errorTable[error.code].http;
  return bothWays((of, name) => ({
    what: `${error.code}: ${name}, ${what}`,
    server: 'playing',
    request: of(playing(...steps)),
    // The first event of the answer was sent before.
    error: of === streamed ? { code: error.code, afterOutput: true } : error,
    records: [ended('failed', error.code, { model: 'eliza', http_status: httpStatus })],
  }));
}

const failures: Case[] = [
  ...failure('whose upstream says 429', ['fail upstream_error 429 7'], {
    code: 'upstream_error',
    httpStatus: 429,
    retryAfterSeconds: 7,
  }),
  ...failure('a fault of our own', ['crash'], { code: 'internal_error' }),
  ...failure('whose engine fails in its middle', ['say one', 'fail upstream_error'], {
    code: 'upstream_error',
  }),
  ...failure('that has no end', ['say one', 'break off'], { code: 'upstream_error' }),
  {
    what: 'the client’s deadline in the middle of a streamed message: the prompt and the produced tokens are charged',
    server: 'playing',
    request: streamed(playing('say one two', 'wait')),
    timeoutMs: 1000,
    error: { code: 'deadline_exceeded' },
    records: [cancelled({ operation: 'chat', completion_tokens: 2, tokens_source: 'estimated', ...aCost })],
  },
];

const again = { server: 'playing', idempotencyKey: 'again' } as const;

const repetitions: Case[] = [
  {
    ...again,
    what: 'a message that is repeated under the same Idempotency-Key',
    before: [whole(playing('say one'))],
    request: whole(playing('say one')),
    records: [...answered(), { state: 'replayed', http_status: 200, model: 'eliza' }],
  },
];

export const messageCases: readonly Case[] = [...answers, ...refusals, ...failures, ...repetitions];
