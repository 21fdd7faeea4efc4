/** The rows of the table of cases. */

import {
  create,
  type DescMessage,
  type DescMethodBiDiStreaming,
  type DescMethodClientStreaming,
  type DescMethodServerStreaming,
  type DescMethodUnary,
  type Message,
  type MessageInitShape,
} from '@bufbuild/protobuf';
import { type ErrorCode, errorTable, type GrpcCode } from '../../src/core/values/errors.ts';
import type { Method } from './wire.ts';

/** A server that the table runs against. */
export type ServerName = 'builtin' | 'playing' | 'strict';

export const wireNames = [
  'REST',
  'REST over HTTP/2',
  'Connect JSON',
  'Connect binary',
  'gRPC-Web',
  'gRPC',
] as const;
export type WireName = (typeof wireNames)[number];

/** The calling account. Each case has its own on each wire. */
export interface Caller {
  readonly trial?: boolean;
  /** Credits of the account. */
  readonly credits?: string;
  readonly scopes?: readonly string[];
  /** Whether the operator has suspended the account. Default: false. */
  readonly isSuspended?: boolean;
  /** Limits of the key, as REST has them. */
  readonly limits?: Readonly<Record<string, unknown>>;
  /** The key to send. Default: the account's own. */
  readonly key?: 'admin' | 'unknown' | 'none';
}

/** Objects that a request may refer to. */
export interface Subject {
  readonly accountName: string;
  readonly keyId: string;
}

export interface CaseRequest {
  readonly method: Method;
  readonly messages: (subject: Subject) => Message[];
}

export interface ExpectedError {
  readonly code: ErrorCode | 'deadline_exceeded';
  readonly param?: string;
  readonly httpStatus?: number;
  readonly retryAfterSeconds?: number;
  readonly grpc?: GrpcCode;
  /** Whether a part of the answer was sent: then REST can only cut audio. */
  readonly afterOutput?: boolean;
}

export interface Case {
  readonly what: string;
  readonly server: ServerName;
  readonly request: CaseRequest;
  readonly caller?: Caller;
  readonly idempotencyKey?: string;
  /** When the client cancels. */
  readonly timeoutMs?: number;
  /** Earlier requests of the caller under the same Idempotency-Key. */
  readonly before?: readonly CaseRequest[];
  /** A request of the same caller under the same Idempotency-Key that runs until its client leaves. */
  readonly meanwhile?: CaseRequest;
  /** If absent, the call must succeed. */
  readonly error?: ExpectedError;
  /** A part of the answer, in the form of `answerOf`. */
  readonly answer?: unknown;
  /**
   * Whether requests of a session may begin in the same millisecond as the session. Then the records are compared with that of the
   * session first.
   */
  readonly hasTurns?: true;
  /** Parts of the usage records, oldest first, including those of `before`. */
  readonly records: readonly Readonly<Record<string, unknown>>[];
  /** The part of the answer to compare. Default: all of it. */
  readonly compare?: (answer: unknown) => unknown;
  /** Whether the answer is about the server itself: a relay has other engines and limits. Default: false */
  readonly isOfServer?: true;
  /** Wires on which the case has no meaning, and why. */
  readonly notOn?: Partial<Record<WireName, string>>;
}

type AnyMethod<I extends DescMessage> =
  | DescMethodUnary<I, DescMessage>
  | DescMethodServerStreaming<I, DescMessage>
  | DescMethodClientStreaming<I, DescMessage>;

/** A call with one request message. */
export function calling<I extends DescMessage>(
  method: AnyMethod<I>,
  request: MessageInitShape<I> | ((subject: Subject) => MessageInitShape<I>),
): CaseRequest {
  return {
    method,
    messages: (subject) => [create(method.input, typeof request === 'function' ? request(subject) : request)],
  };
}

/** A call with many request messages. */
export function callingWith<I extends DescMessage>(
  method: DescMethodClientStreaming<I, DescMessage> | DescMethodBiDiStreaming<I, DescMessage>,
  requests: readonly MessageInitShape<I>[],
): CaseRequest {
  return { method, messages: () => requests.map((request) => create(method.input, request)) };
}

const bothRest = (why: string) => ({ REST: why, 'REST over HTTP/2': why });

/** The reason for `notOn`. */
export const noRest = (why: string): Partial<Record<WireName, string>> => bothRest(why);

/** The record of a call that was refused or that failed. */
export function ended(
  state: 'refused' | 'failed',
  code: ErrorCode,
  facts: Readonly<Record<string, unknown>> = {},
): Record<string, unknown> {
  return { state, code, http_status: errorTable[code].http, ...facts };
}

export const cancelled = (facts: Readonly<Record<string, unknown>> = {}): Record<string, unknown> => ({
  state: 'cancelled',
  code: 'request_cancelled',
  http_status: 499,
  ...facts,
});

export const ok = (facts: Readonly<Record<string, unknown>> = {}): Record<string, unknown> => ({
  state: 'ok',
  http_status: 200,
  ...facts,
});
