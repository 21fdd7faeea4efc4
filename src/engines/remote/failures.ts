/**
 * What a failed call to a remote Parley means here.
 *
 * Its codes are ours, so a refusal of what the client sent (a file without audio, a text of which nothing can be said) is
 * passed on as what it is: an engine inside this server would have refused it likewise, and only the client can mend it.
 * All else is between the two servers, above all what the remote says of the key that it was called with: that is an
 * `upstream_error`, which keeps the remote's status and Retry-After and never reads as if it were about the client's key.
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
import { type ErrorCode, type ErrorDetails, errorTable, ParleyError } from '../../core/errors.ts';

/** What a client has to change, in our words: those of the remote stay in the log. */
const aboutTheRequest: Readonly<Partial<Record<ErrorCode, string | undefined>>> = {
  invalid_input: '`input` has nothing that can be said: send words or numbers.',
  input_too_long: undefined,
  unknown_voice: undefined,
  invalid_file: undefined,
  unsupported_file_format: undefined,
  payload_too_large: undefined,
  invalid_messages: undefined,
  invalid_parameter: 'The engine behind this model does not take a parameter as it is.',
};

/** Whose fault it is, for the client: nothing that it could mend. */
const aboutOurselves: Readonly<Partial<Record<ErrorCode, string>>> = {
  invalid_api_key: ofOperator('does not accept the key of this server'),
  insufficient_scope: ofOperator('does not allow this operation to this server'),
  subscription_required: ofOperator('has no active plan for this server'),
  fair_use_limit_reached: ofOperator('has reached the fair-use limit of this server'),
  insufficient_credits: ofOperator('has no credits left for this server'),
  unknown_model: ofOperator('does not know a model of the name that it is asked for'),
  engine_unavailable: ofOperator('cannot do this'),
  rate_limit_exceeded: 'The engine behind this model has had too many requests. Wait, then try again.',
  overloaded: 'The engine behind this model is busy. Wait, then try again.',
};

function ofOperator(what: string): string {
  return `The engine behind this model ${what}. Only the operator of this server can mend that.`;
}

/** Nothing else of the remote's reaches a client. */
const fieldPath = /^[\w.[\]-]{1,100}$/;

/** @param hasNotRun whether the call has never been on a connection */
export function translateFailure(thrown: unknown, hasNotRun: boolean): ParleyError {
  if (!isStatus(thrown)) return new ParleyError('internal_error', { cause: thrown });
  const { info, retryAfterSeconds } = readDetails(thrown);
  if (info === undefined) return withoutDetails(thrown, hasNotRun);
  const details = {
    cause: operatorsCause(thrown, info),
    ...(retryAfterSeconds !== undefined && { retryAfterSeconds }),
  };
  const code = codeOf(info);
  if (code !== undefined && code in aboutTheRequest) return refusal(code, info, details);
  const message = code && aboutOurselves[code];
  return new ParleyError('upstream_error', {
    ...details,
    ...(message !== undefined && { message }),
    upstreamStatus: statusOf(info, code),
  });
}

/** There is no connection, and there was none for this request. */
export function unreachable(cause: Error): ParleyError {
  return new ParleyError('upstream_error', {
    message: 'The engine behind this model cannot be reached. Try again.',
    hasNotRun: true,
    cause,
  });
}

function refusal(code: ErrorCode, { metadata }: ErrorInfo, details: ErrorDetails): ParleyError {
  const param = metadata['param'];
  const message = aboutTheRequest[code];
  return new ParleyError(code, {
    ...details,
    ...(message !== undefined && { message }),
    ...(param !== undefined && fieldPath.test(param) && { param }),
  });
}

/** The connection, the time, or something on the way that is no Parley. */
function withoutDetails(failure: StatusObject, hasNotRun: boolean): ParleyError {
  const cause = operatorsCause(failure);
  if (failure.code === status.UNAVAILABLE && hasNotRun) {
    return unreachable(new Error(`there is no connection: ${failure.details}`));
  }
  if (failure.code === status.DEADLINE_EXCEEDED) {
    return new ParleyError('upstream_error', {
      message: 'The engine behind this model took too long. Try again, or ask for less.',
      cause,
    });
  }
  if (failure.code === status.UNAUTHENTICATED || failure.code === status.PERMISSION_DENIED) {
    const message = aboutOurselves.invalid_api_key;
    const upstreamStatus = failure.code === status.UNAUTHENTICATED ? 401 : 403;
    return new ParleyError('upstream_error', {
      ...(message !== undefined && { message }),
      upstreamStatus,
      cause,
    });
  }
  return new ParleyError('upstream_error', { cause });
}

function codeOf({ domain, reason }: ErrorInfo): ErrorCode | undefined {
  return domain === 'parley' && Object.hasOwn(errorTable, reason) ? (reason as ErrorCode) : undefined;
}

function statusOf({ metadata }: ErrorInfo, code: ErrorCode | undefined): number {
  const told = Number(metadata['http_status']);
  if (Number.isInteger(told) && told >= 400 && told <= 599) return told;
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
    // Not what the status says it is: then it says nothing.
    return {};
  }
}

/** All that the remote said, with its id of the request, by which its own records and log have the rest. */
function operatorsCause({ code, details }: StatusObject, info?: ErrorInfo): Error {
  const reason = info ? ` ${info.reason} (${info.metadata['request_id'] ?? 'without an id'})` : '';
  return new Error(`the remote ended the call with ${status[code]}${reason}: ${details}`);
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
