import type { ErrorCode, ParleyError } from '../../core/errors.ts';

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
  const { message, code } = error;
  return { error: { message, type: errorType(error), param: error.param ?? null, code } };
}

/** Headers that tell a client whether and when to try again. */
export function errorHeaders(error: ParleyError): Record<string, string> {
  return {
    ...(error.retryAfterSeconds !== undefined && {
      'retry-after': String(Math.ceil(error.retryAfterSeconds)),
    }),
    ...(error.httpStatus === 402 && { 'x-should-retry': 'false' }),
    ...(error.code === 'invalid_api_key' && { 'www-authenticate': 'Bearer' }),
  };
}

/** The coarse `type` beside the code, in the words that hosted APIs use. An upstream's 401 or 402 must not read as ours. */
function errorType({ code, httpStatus }: ParleyError): string {
  if (code === 'upstream_error') return 'server_error';
  switch (httpStatus) {
    case 401:
      return 'authentication_error';
    case 402:
      return 'insufficient_quota';
    case 403:
      return 'permission_error';
    case 429:
      return 'rate_limit_error';
    default:
      return httpStatus >= 500 ? 'server_error' : 'invalid_request_error';
  }
}
