import type { ErrorCode, ParleyError } from '../core/errors.ts';

/** The error shape of the API: all four members are always there. */
export interface ErrorBody {
  readonly error: {
    readonly message: string;
    readonly type: string;
    readonly param: string | null;
    readonly code: ErrorCode;
  };
}

export function errorBody(error: ParleyError): ErrorBody {
  const { message, code, httpStatus } = error;
  return { error: { message, type: errorType(httpStatus), param: error.param ?? null, code } };
}

/** Headers that tell a client whether and when to try again. */
export function errorHeaders(error: ParleyError): Record<string, string> {
  return {
    ...(error.retryAfterSeconds !== undefined && {
      'retry-after': String(Math.ceil(error.retryAfterSeconds)),
    }),
    ...(error.httpStatus === 402 && { 'x-should-retry': 'false' }),
    ...(error.httpStatus === 401 && { 'www-authenticate': 'Bearer' }),
  };
}

/** The coarse `type` beside the code, in the words that hosted APIs use. */
function errorType(status: number): string {
  switch (status) {
    case 401:
      return 'authentication_error';
    case 402:
      return 'insufficient_quota';
    case 403:
      return 'permission_error';
    case 429:
      return 'rate_limit_error';
    default:
      return status >= 500 ? 'server_error' : 'invalid_request_error';
  }
}
