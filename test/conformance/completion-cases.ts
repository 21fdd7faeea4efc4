/** Chats in the form of legacy completions. */
import type { MessageInitShape } from '@bufbuild/protobuf';
import type { CompletionParamsSchema } from '../../gen/parley/completions/v1/completions_pb.ts';
import { CompletionsService } from '../../gen/parley/completions/v1/completions_service_pb.ts';
import type { ErrorCode } from '../../src/core/values/errors.ts';
import { type Case, type CaseRequest, calling, cancelled, ended } from './case.ts';
import { aCost, answered } from './chat-calls.ts';
import { play, type Step } from './play.ts';

type Params = MessageInitShape<typeof CompletionParamsSchema>;

const { createCompletion, streamCompletion } = CompletionsService.method;
const whole = (params: Params) => calling(createCompletion, { params });
const streamed = (params: Params) => calling(streamCompletion, { params });

function bothWays(makeCase: (of: (params: Params) => CaseRequest, name: string) => Case): Case[] {
  return [makeCase(whole, 'a completion'), makeCase(streamed, 'a completion, streamed')];
}

const said = (value: string) => ({ value: { case: 'text' as const, value } });
const list = (...texts: string[]) => ({ value: { case: 'list' as const, value: { items: texts } } });
const worried = { model: 'eliza', prompt: said('I am worried about my work.') } satisfies Params;
const playing = (...steps: readonly Step[]) =>
  ({ model: 'eliza', prompt: list(play(...steps)) }) satisfies Params;

const head = { id: '<completion>', object: 'text_completion', model: 'eliza' };
const usage = { prompt_tokens: 7, completion_tokens: 3, total_tokens: 10 };

const answers: Case[] = [
  ...bothWays((of, name) => ({
    what: `${name}, with several answers, a limit and stops`,
    server: 'builtin',
    request: of({ ...worried, n: 3, maxTokens: 4, stop: list('?', '.'), bestOf: 3 }),
    records: answered(),
  })),
  {
    what: 'a completion has the answer of the model, and the upstream’s count of its tokens',
    server: 'playing',
    request: whole(playing('say one ', 'say two')),
    answer: [{ completion: { ...head, usage, choices: [{ text: 'one two', finish_reason: 'stop' }] } }],
    records: answered({ prompt_tokens: 7, completion_tokens: 3, cost_nano_credits: 1900 }),
  },
  {
    what: 'a completion, streamed in pieces',
    server: 'playing',
    request: streamed(playing('say one ', 'say two')),
    answer: [
      { completion: { ...head, choices: [{ text: 'one ' }] } },
      { completion: { ...head, choices: [{ text: 'two' }] } },
      { completion: { ...head, choices: [{ finish_reason: 'stop' }], usage } },
    ],
    records: answered({ prompt_tokens: 7, completion_tokens: 3, cost_nano_credits: 1900 }),
  },
  {
    what: 'a completion, streamed, with its usage in a separate piece',
    server: 'playing',
    request: streamed({ ...playing('say one'), streamOptions: { includeUsage: true } }),
    answer: [
      { completion: { choices: [{ text: 'one' }] } },
      { completion: { choices: [{ finish_reason: 'stop' }] } },
      { completion: { ...head, usage } },
    ],
    records: answered(),
  },
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

const refusals: Case[] = [
  ...refusal('without a model', { prompt: said('x') }, 'missing_model', 'model'),
  ...refusal('without a prompt', { model: 'eliza' }, 'missing_input', 'prompt'),
  ...refusal('of a model that there is not', { ...worried, model: 'gpt-4o' }, 'unknown_model', 'model'),
  ...refusal('before a suffix', { ...worried, suffix: 'end' }, 'invalid_parameter', 'suffix'),
  ...refusal('with its prompt', { ...worried, echo: true }, 'invalid_parameter', 'echo'),
  ...refusal('with probabilities', { ...worried, logprobs: 0 }, 'invalid_parameter', 'logprobs'),
  ...refusal('the best of two', { ...worried, bestOf: 2 }, 'invalid_parameter', 'best_of'),
  ...refusal('with more choices than one request may have', { ...worried, n: 129 }, 'invalid_parameter', 'n'),
  ...refusal('of no prompts', { ...worried, prompt: list() }, 'invalid_input', 'prompt'),
  ...refusal('of several prompts', { ...worried, prompt: list('a', 'b') }, 'invalid_input', 'prompt'),
  ...refusal('with half an answer', { ...worried, n: 1.5 }, 'invalid_parameter', 'n'),
  ...refusal('with half a token', { ...worried, maxTokens: 0.5 }, 'invalid_parameter', 'max_tokens'),
];

const failures: Case[] = [
  ...bothWays((of, name) => ({
    what: `upstream_error: ${name}, whose engine fails after some output`,
    server: 'playing',
    request: of(playing('say one', 'fail upstream_error')),
    error: { code: 'upstream_error', ...(of === streamed && { afterOutput: true }) },
    records: [ended('failed', 'upstream_error', { model: 'eliza' })],
  })),
  {
    what: 'the client’s deadline in the middle of a streamed completion: the prompt and the produced tokens are charged',
    server: 'playing',
    request: streamed(playing('say one two', 'wait')),
    timeoutMs: 1000,
    error: { code: 'deadline_exceeded' },
    records: [cancelled({ operation: 'chat', completion_tokens: 2, tokens_source: 'estimated', ...aCost })],
  },
  {
    what: 'a completion that is repeated under the same Idempotency-Key',
    server: 'playing',
    idempotencyKey: 'again',
    before: [whole(playing('say one'))],
    request: whole(playing('say one')),
    records: [...answered(), { state: 'replayed', http_status: 200, model: 'eliza' }],
  },
];

export const completionCases: readonly Case[] = [...answers, ...refusals, ...failures];
