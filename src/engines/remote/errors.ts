/**
 * Translates failed calls to a remote Parley. A refusal of the request itself keeps its code, as a local engine would
 * refuse it too and the client can fix it. Everything else, such as a refusal of this server's key, is an
 * `upstream_error` with the remote's status and Retry-After.
 */
import { fromBinary } from '@bufbuild/protobuf';
import { anyUnpack, durationMs } from '@bufbuild/protobuf/wkt';
import { Metadata, type StatusObject, status } from '@grpc/grpc-js';
import {
  type ErrorInfo,
  ErrorInfoSchema,
  RetryInfoSchema,
} from '../../../gen/google/rpc/error_details_pb.ts';
import { StatusSchema } from '../../../gen/google/rpc/status_pb.ts';
import { type ErrorCode, type ErrorDetails, errorTable, ParleyError } from '../../core/values/errors.ts';
import { forOperator, upstreamMessages } from '../upstream-messages.ts';
import { withoutKeys } from '../without-keys.ts';

/**
 * Codes that are passed on, with a message that replaces the table's. The remote's own message only goes to the log.
 */
const requestErrors: Readonly<Partial<Record<ErrorCode, string | undefined>>> = {
  invalid_input: '`input` has nothing that can be spoken: send words or numbers.',
  input_too_long: undefined,
  unknown_voice: undefined,
  invalid_file: undefined,
  unsupported_file_format: undefined,
  payload_too_large: undefined,
  invalid_messages: undefined,
  invalid_parameter: 'The engine behind this model refuses the value of a parameter.',
};

/** Messages for codes that become `upstream_error`. */
const serverErrors: Readonly<Partial<Record<ErrorCode, string>>> = {
  invalid_api_key: upstreamMessages.keyRefused,
  insufficient_scope: forOperator('does not allow this operation to this server'),
  subscription_required: forOperator('has no active plan for this server'),
  fair_use_limit_reached: forOperator('has reached the fair-use limit of this server'),
  insufficient_credits: upstreamMessages.noCredits,
  unknown_model: upstreamMessages.unknownModel,
  engine_unavailable: forOperator('cannot do this'),
  rate_limit_exceeded: upstreamMessages.tooManyRequests,
  overloaded: upstreamMessages.busy,
};

/** The connection was lost before the remote reported anything about the call. */
class LostCallError extends Error {}

/** Whether a call without output may be repeated: no output has reached the client. */
export function isLost(error: unknown): boolean {
  return error instanceof ParleyError && error.cause instanceof LostCallError;
}

/** The form that the remote's `param` must have to be passed on. */
const fieldPath = /^[\w.[\]-]{1,100}$/;

/**
 * @param hasNotRun whether the call was never sent on a connection
 * @param ownKey the key of the engine, which must not be logged
 */
export function translateError(thrown: unknown, hasNotRun: boolean, ownKey: string | undefined): ParleyError {
  if (!isStatus(thrown)) return new ParleyError('internal_error', { cause: thrown });
  const { info, retryAfterSeconds } = readDetails(thrown);
  const cause = logCause(thrown, info, ownKey);
  if (info === undefined) return statusError(thrown.code, cause, hasNotRun);
  const details = { cause, ...(retryAfterSeconds !== undefined && { retryAfterSeconds }) };
  const code = codeOf(info);
  if (code !== undefined && code in requestErrors) return requestError(code, info, details);
  const message = code && serverErrors[code];
  return new ParleyError('upstream_error', {
    ...details,
    ...(message !== undefined && { message }),
    httpStatus: statusOf(info, code),
  });
}

/** The error of a request without a connection. */
export function unreachable(cause: Error): ParleyError {
  return new ParleyError('upstream_error', { message: upstreamMessages.unreachable, hasNotRun: true, cause });
}

function requestError(code: ErrorCode, { metadata }: ErrorInfo, details: ErrorDetails): ParleyError {
  const param = metadata['param'];
  const message = requestErrors[code];
  return new ParleyError(code, {
    ...details,
    ...(message !== undefined && { message }),
    ...(param !== undefined && fieldPath.test(param) && { param }),
  });
}

/** The error of a status without details, from the connection, the deadline, or a proxy that is not a Parley. */
function statusError(code: status, cause: Error, hasNotRun: boolean): ParleyError {
  switch (code) {
    case status.UNAVAILABLE:
      if (hasNotRun) return unreachable(new LostCallError(cause.message));
      return new ParleyError('upstream_error', { cause: new LostCallError(cause.message) });
    case status.DEADLINE_EXCEEDED:
      return new ParleyError('upstream_error', { message: upstreamMessages.tooSlow, cause });
    case status.UNAUTHENTICATED:
    case status.PERMISSION_DENIED:
      return new ParleyError('upstream_error', {
        message: upstreamMessages.keyRefused,
        httpStatus: code === status.UNAUTHENTICATED ? 401 : 403,
        cause,
      });
    default:
      return new ParleyError('upstream_error', { cause });
  }
}

function codeOf({ domain, reason }: ErrorInfo): ErrorCode | undefined {
  return domain === 'parley' && Object.hasOwn(errorTable, reason) ? (reason as ErrorCode) : undefined;
}

function statusOf({ metadata }: ErrorInfo, code: ErrorCode | undefined): number {
  const httpStatus = Number(metadata['http_status']);
  if (Number.isInteger(httpStatus) && httpStatus >= 400 && httpStatus <= 599) return httpStatus;
  return errorTable[code ?? 'upstream_error'].http;
}

interface StatusDetails {
  readonly info?: ErrorInfo | undefined;
  readonly retryAfterSeconds?: number | undefined;
}

function readDetails({ metadata }: StatusObject): StatusDetails {
  const [packed] = metadata.get('grpc-status-details-bin');
  if (!(packed instanceof Buffer)) return {};
  try {
    const { details } = fromBinary(StatusSchema, packed);
    const info = details.map((detail) => anyUnpack(detail, ErrorInfoSchema)).find(Boolean);
    const retry = details.map((detail) => anyUnpack(detail, RetryInfoSchema)).find(Boolean);
    return { info, retryAfterSeconds: retry?.retryDelay && durationMs(retry.retryDelay) / 1000 };
  } catch {
    // Malformed details count as none.
    return {};
  }
}

/** The remote's message without keys, and its request id, which leads to the rest in its own records and log. */
function logCause(
  { code, details }: StatusObject,
  info: ErrorInfo | undefined,
  ownKey: string | undefined,
): Error {
  const reason = info ? ` ${info.reason} (${info.metadata['request_id'] ?? 'without an id'})` : '';
  const said = withoutKeys(`${reason}: ${details}`, ownKey);
  return new Error(`the remote ended the call with ${status[code]}${said}`);
}

function isStatus(thrown: unknown): thrown is StatusObject {
  return (
    thrown instanceof Error &&
    'code' in thrown &&
    typeof thrown.code === 'number' &&
    'details' in thrown &&
    typeof thrown.details === 'string' &&
    'metadata' in thrown &&
    thrown.metadata instanceof Metadata
  );
}
