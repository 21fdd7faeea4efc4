/** The rows of the table of cases. */

import {
  create,
  type DescMessage,
  type DescMethodClientStreaming,
  type DescMethodServerStreaming,
  type DescMethodUnary,
  type Message,
  type MessageInitShape,
} from '@bufbuild/protobuf';
import { type ErrorCode, errorTable, type GrpcCode } from '../../src/core/values/errors.ts';
import type { Method } from './wire.ts';

/** One of the servers that the table runs against. */
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

/** The account that calls. Each case has one of its own on each wire. */
export interface Caller {
  readonly trial?: boolean;
  /** Credits that are loaded. */
  readonly credits?: string;
  readonly scopes?: readonly string[];
  /** Whether the operator has suspended the account. Default: false. */
  readonly isSuspended?: boolean;
  /** Limits of the key, as REST has them. */
  readonly limits?: Readonly<Record<string, unknown>>;
  /** The key that is sent, if not the account's own. */
  readonly key?: 'admin' | 'unknown' | 'none';
}

/** Things that a request may refer to. */
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
  /** Whether a part of the answer has gone out: REST can then only cut audio. */
  readonly afterOutput?: boolean;
}

export interface Case {
  readonly what: string;
  readonly server: ServerName;
  readonly request: CaseRequest;
  readonly caller?: Caller;
  readonly idempotencyKey?: string;
  /** When the client gives up. */
  readonly timeoutMs?: number;
  /** Earlier requests of the caller under the same Idempotency-Key. */
  readonly before?: readonly CaseRequest[];
  /** A request of the same caller under the same Idempotency-Key that runs until its client leaves. */
  readonly meanwhile?: CaseRequest;
  /** If absent, the call must succeed. */
  readonly error?: ExpectedError;
  /** A part of the answer, as `answerOf` tells it. */
  readonly answer?: unknown;
  /** Parts of the usage records that are left behind, oldest first; those of `before` too. */
  readonly records: readonly Readonly<Record<string, unknown>>[];
  /** The part of the answer to compare. Default: all of it. */
  readonly compare?: (answer: unknown) => unknown;
  /** Whether the answer is about the server itself: a relay has engines and limits of its own. Default: false */
  readonly isOfServer?: true;
  /** Wires on which the case has no meaning, and why. */
  readonly notOn?: Partial<Record<WireName, string>>;
}

type AnyMethod<I extends DescMessage> =
  | DescMethodUnary<I, DescMessage>
  | DescMethodServerStreaming<I, DescMessage>
  | DescMethodClientStreaming<I, DescMessage>;

/** A call with one request. */
export function calling<I extends DescMessage>(
  method: AnyMethod<I>,
  request: MessageInitShape<I> | ((subject: Subject) => MessageInitShape<I>),
): CaseRequest {
  return {
    method,
    messages: (subject) => [create(method.input, typeof request === 'function' ? request(subject) : request)],
  };
}

/** A call with many. */
export function callingWith<I extends DescMessage>(
  method: DescMethodClientStreaming<I, DescMessage>,
  requests: readonly MessageInitShape<I>[],
): CaseRequest {
  return { method, messages: () => requests.map((request) => create(method.input, request)) };
}

const bothRest = (why: string) => ({ REST: why, 'REST over HTTP/2': why });

/** For `notOn`. */
export const noRest = (why: string): Partial<Record<WireName, string>> => bothRest(why);

/** The record of a call that was turned away, or that failed. */
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
