/** Chats that fail, are cancelled by their client, or are repeated. */
import { type ErrorCode, errorTable } from '../../src/core/values/errors.ts';
import { type Case, cancelled, type ExpectedError, ended } from './case.ts';
import { aCost, answered, bothWays, playing, streamed, whole } from './chat-calls.ts';
import type { Step } from './play.ts';

function failure(what: string, steps: readonly Step[], error: ExpectedError & { code: ErrorCode }): Case[] {
  return bothWays((of, name) => ({
    what: `${error.code}: ${name}, ${what}`,
    server: 'playing',
    request: of(playing(...steps)),
    // The role was sent before.
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
    code: 'upstream_error',
    httpStatus: 429,
    retryAfterSeconds: 7,
  }),
  ...failure('the upstream wants to be paid', ['fail upstream_error 402'], {
    code: 'upstream_error',
    httpStatus: 402,
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
    what: `the client’s deadline before any output of a ${name}: nothing is charged`,
    server: 'playing',
    request: of(playing('wait')),
    timeoutMs: 1000,
    error: { code: 'deadline_exceeded' },
    records: [cancelled({ operation: 'chat', model: 'eliza' })],
  })),
  {
    what: 'the client’s deadline in the middle of a streamed chat: the prompt and the produced tokens are charged',
    server: 'playing',
    request: streamed(playing('say one two', 'wait')),
    timeoutMs: 1000,
    error: { code: 'deadline_exceeded' },
    records: [cancelled({ operation: 'chat', completion_tokens: 2, tokens_source: 'estimated', ...aCost })],
  },
  {
    what: 'the client’s deadline in the middle of a chat: a plain answer has sent nothing, and nothing is charged',
    server: 'playing',
    request: whole(playing('say one two', 'wait')),
    timeoutMs: 1000,
    error: { code: 'deadline_exceeded' },
    records: [cancelled({ operation: 'chat' })],
  },
];

const again = { server: 'playing', idempotencyKey: 'again' } as const;

const repetitions: Case[] = [
  {
    ...again,
    what: 'chat that is repeated under the same Idempotency-Key',
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
    what: 'idempotency_conflict: a chat while the first request still runs',
    meanwhile: whole(playing('wait')),
    request: whole(playing('wait')),
    error: { code: 'idempotency_conflict', retryAfterSeconds: 1 },
    records: [cancelled({ model: 'eliza' }), ended('refused', 'idempotency_conflict', { model: 'eliza' })],
  },
  {
    ...again,
    what: 'streamed chats ignore the Idempotency-Key',
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

export const chatFailureCases: readonly Case[] = [...failures, ...deadlines, ...repetitions];
