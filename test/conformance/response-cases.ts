/** Chats in the form of the Responses API: answered, refused, failed, cancelled and repeated. */
import type { JsonObject, MessageInitShape } from '@bufbuild/protobuf';
import type { ResponseParamsSchema } from '../../gen/parley/responses/v1/responses_pb.ts';
import { ResponsesService } from '../../gen/parley/responses/v1/responses_service_pb.ts';
import { type ErrorCode, errorTable } from '../../src/core/values/errors.ts';
import {
  type Case,
  type CaseRequest,
  calling,
  cancelled,
  type ExpectedError,
  ended,
  noRest,
} from './case.ts';
import { aCost, answered } from './chat-calls.ts';
import { play, type Step } from './play.ts';

type Params = MessageInitShape<typeof ResponseParamsSchema>;

const { createResponse, streamResponse } = ResponsesService.method;
const whole = (params: Params) => calling(createResponse, { params });
const streamed = (params: Params) => calling(streamResponse, { params });

function bothWays(makeCase: (of: (params: Params) => CaseRequest, name: string) => Case): Case[] {
  return [makeCase(whole, 'a response'), makeCase(streamed, 'a response, streamed')];
}

const said = (value: string) => ({ value: { case: 'text' as const, value } });
const items = (...list: NonNullable<ItemInit>[]) => ({
  value: { case: 'items' as const, value: { items: list } },
});
type ItemInit = Extract<NonNullable<Params['input']>['value'], { case: 'items' }>['value']['items'] extends
  | readonly (infer Item)[]
  | undefined
  ? Item
  : never;

const worried = { model: 'eliza', input: said('I am worried about my work.') } satisfies Params;
const playing = (...steps: readonly Step[]): Params => ({ model: 'eliza', input: said(play(...steps)) });

const textOfTwo = { type: 'output_text', text: 'one two' };
const message = (content: object[]) => ({
  type: 'message',
  role: 'assistant',
  id: '<msg>',
  content: { parts: { items: content } },
});
const usage = { input_tokens: 7, output_tokens: 3, total_tokens: 10 };
const place = { output_index: 0, item_id: '<msg>', content_index: 0 };

const answers: Case[] = [
  ...bothWays((of, name) => ({ what: name, server: 'builtin', request: of(worried), records: answered() })),
  ...bothWays((of, name) => ({
    what: `${name}, cut at its limit`,
    server: 'builtin',
    request: of({ ...worried, maxOutputTokens: 2 }),
    compare: (answer) => {
      const last = (answer as { response?: JsonObject; event?: { response: JsonObject } }[]).at(-1);
      const { status, incomplete_details: details } = last?.event?.response ?? last?.response ?? {};
      return { status, details };
    },
    answer: { status: 'incomplete', details: { reason: 'max_output_tokens' } },
    records: answered({ completion_tokens: 2 }),
  })),
  {
    what: 'a response has the answer of the model, and the upstream’s count of its tokens',
    server: 'playing',
    request: whole({
      ...playing('say one ', 'say two'),
      instructions: 'Be brief.',
      metadata: { trace: 'a' },
    }),
    answer: [
      {
        response: {
          id: '<resp>',
          object: 'response',
          status: 'completed',
          model: 'eliza',
          usage,
          instructions: 'Be brief.',
          metadata: { trace: 'a' },
          tool_choice: 'auto',
          output: [{ ...message([textOfTwo]), status: 'completed' }],
        },
      },
    ],
    records: answered({ prompt_tokens: 7, completion_tokens: 3, cost_nano_credits: 1900 }),
  },
  {
    what: 'a response, streamed, opens, fills and closes its item in order',
    server: 'playing',
    request: streamed(playing('say one ', 'say two')),
    answer: [
      { type: 'response.created', response: { status: 'in_progress' } },
      { type: 'response.in_progress', response: { status: 'in_progress' } },
      {
        type: 'response.output_item.added',
        output_index: 0,
        item: { type: 'message', role: 'assistant', id: '<msg>', status: 'in_progress' },
      },
      { type: 'response.content_part.added', ...place, part: { ...textOfTwo, text: '' } },
      { type: 'response.output_text.delta', ...place, delta: 'one ' },
      { type: 'response.output_text.delta', ...place, delta: 'two' },
      { type: 'response.output_text.done', ...place, text: 'one two' },
      { type: 'response.content_part.done', ...place, part: textOfTwo },
      { type: 'response.output_item.done', output_index: 0, item: message([textOfTwo]) },
      { type: 'response.completed', response: { output: [message([textOfTwo])], usage } },
    ].map((event, index) => ({ event: { ...event, ...(index > 0 && { sequence_number: index }) } })),
    records: answered({ prompt_tokens: 7, completion_tokens: 3, cost_nano_credits: 1900 }),
  },
  ...bothWays((of, name) => ({
    what: `${name}, of a conversation with function calls`,
    server: 'playing',
    request: of({
      model: 'eliza',
      input: items(
        { role: 'user', content: said('What is the weather?') },
        { type: 'reasoning', id: 'rs_1' },
        { type: 'function_call', callId: 'a', name: 'look_up', arguments: '{"city":"Oslo"}' },
        { type: 'function_call', callId: 'b', name: 'look_up', arguments: '{"city":"Rome"}' },
        { type: 'function_call_output', callId: 'a', output: said('rain') },
        { type: 'function_call_output', callId: 'b', output: said('sun') },
        { type: 'message', role: 'user', content: said(play('say one')) },
      ),
      tools: [{ type: 'function', name: 'look_up', parameters: { type: 'object', properties: {} } }],
      toolChoice: { kind: { case: 'stringValue', value: 'none' } },
      reasoning: { effort: 'low' },
      text: { format: { type: 'json_schema', name: 'x', schema: { type: 'object' }, strict: true } },
      temperature: 0.25,
      other: { seed: 5 },
    }),
    records: answered(),
  })),
];

function refusal(what: string, params: Params, code: ErrorCode, param: string): Case[] {
  const { model } = params;
  return bothWays((of, name) => ({
    what: `${code}: ${name}, ${what}`,
    server: 'builtin',
    request: of(params),
    error: { code, param },
    records: [ended('refused', code, { operation: 'chat', ...(model && { model }) })],
  }));
}

const text = (value: string) => ({ kind: { case: 'stringValue' as const, value } });

const refusals: Case[] = [
  ...refusal('without a model', { input: said('x') }, 'missing_model', 'model'),
  ...refusal('without input', { model: 'eliza' }, 'missing_input', 'input'),
  ...refusal('of an empty text', { model: 'eliza', input: said(' ') }, 'invalid_input', 'input'),
  ...refusal('of no items', { model: 'eliza', input: items() }, 'invalid_input', 'input'),
  ...refusal(
    'of a message without a role',
    { model: 'eliza', input: items({ content: said('x') }) },
    'invalid_input',
    'input[0].role',
  ),
  ...refusal(
    'of an item that is stored elsewhere',
    { model: 'eliza', input: items({ type: 'item_reference', id: 'msg_1' }) },
    'invalid_input',
    'input[0].type',
  ),
  ...refusal('of a model that there is not', { ...worried, model: 'gpt-4o' }, 'unknown_model', 'model'),
  ...refusal(
    'that goes on from another',
    { ...worried, previousResponseId: 'resp_1' },
    'invalid_parameter',
    'previous_response_id',
  ),
  ...refusal(
    'in a conversation',
    { ...worried, conversation: text('conv_1') },
    'invalid_parameter',
    'conversation',
  ),
  ...refusal('of a stored prompt', { ...worried, prompt: text('pmpt_1') }, 'invalid_parameter', 'prompt'),
  ...refusal('in the background', { ...worried, background: true }, 'invalid_parameter', 'background'),
  ...refusal(
    'that must use a tool of the server',
    { ...worried, toolChoice: text('web_search') },
    'invalid_parameter',
    'tool_choice',
  ),
  ...refusal(
    'with half a token',
    { ...worried, maxOutputTokens: 1.5 },
    'invalid_parameter',
    'max_output_tokens',
  ),
  ...refusal(
    'in a format that there is not',
    { ...worried, text: { format: { type: 'grammar' } } },
    'invalid_parameter',
    'text.format.type',
  ),
  {
    what: 'missing_model: a response without parameters',
    server: 'builtin',
    request: calling(createResponse, {}),
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
  ...bothWays((of, name) => ({
    what: `insufficient_scope: ${name} with a key for speech`,
    server: 'builtin',
    caller: { scopes: ['speech'] },
    request: of(worried),
    error: { code: 'insufficient_scope' },
    records: [ended('refused', 'insufficient_scope', { operation: 'chat' })],
  })),
];

function failure(what: string, steps: readonly Step[], error: ExpectedError & { code: ErrorCode }): Case[] {
  const httpStatus = error.httpStatus ?? errorTable[error.code].http;
  return bothWays((of, name) => ({
    what: `${error.code}: ${name}, ${what}`,
    server: 'playing',
    request: of(playing(...steps)),
    // The first events of the answer were sent before.
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
    what: 'the client’s deadline in the middle of a streamed response: the prompt and the produced tokens are charged',
    server: 'playing',
    request: streamed(playing('say one two', 'wait')),
    timeoutMs: 1000,
    error: { code: 'deadline_exceeded' },
    records: [cancelled({ operation: 'chat', completion_tokens: 2, tokens_source: 'estimated', ...aCost })],
  },
  ...bothWays((of, name) => ({
    what: `the client’s deadline before any output of ${name}: nothing is charged`,
    server: 'playing',
    request: of(playing('wait')),
    timeoutMs: 1000,
    error: { code: 'deadline_exceeded' },
    records: [cancelled({ operation: 'chat', model: 'eliza' })],
  })),
];

const again = { server: 'playing', idempotencyKey: 'again' } as const;

const repetitions: Case[] = [
  {
    ...again,
    what: 'a response that is repeated under the same Idempotency-Key',
    before: [whole(playing('say one'))],
    request: whole(playing('say one')),
    records: [...answered(), { state: 'replayed', http_status: 200, model: 'eliza' }],
  },
  {
    ...again,
    what: 'idempotency_conflict: another response under the same Idempotency-Key',
    before: [whole(playing('say one'))],
    request: whole(playing('say two')),
    error: { code: 'idempotency_conflict' },
    records: [...answered(), ended('refused', 'idempotency_conflict', { model: 'eliza' })],
  },
];

export const responseCases: readonly Case[] = [...answers, ...refusals, ...failures, ...repetitions];
