/** Turns a ParleyError into the REST API's error body and its headers for retries. */
import type { Advice, AdviceKind, ErrorCode, ParleyError } from '../../core/values/errors.ts';

/** The error shape of the API: all four members are always there. */
export interface ErrorBody {
  readonly error: {
    readonly message: string;
    readonly type: string;
    readonly param: string | null;
    readonly code: ErrorCode;
  };
}

const listModels = (type: Advice['type']) => `GET /models${typeQuery(type)} lists those your key can call.`;

const words: Readonly<Record<AdviceKind, (type: Advice['type']) => string>> = {
  list_models: listModels,
  choose_model: (type) =>
    `${listModels(type)} For clients with built-in names the operator of this server can give models those names, as in examples/fixed-names.yaml.`,
  list_voices: (type) => `GET /models${typeQuery(type)} lists its voices.`,
  send_key: () => 'Send it as `Authorization: Bearer <API_KEY>`.',
  open_subscription: () =>
    'The operator of this server opens one with `parley plan start-trial <account>` or `parley plan activate <account> --until <when>`.',
  load_credits: () =>
    'The operator of this server loads more with `parley credits load <account> <amount> --reason <text>`.',
};

/** A list without a type includes chat models. */
function typeQuery(type: Advice['type']): string {
  return type === undefined || type === 'chat' ? '' : `?type=${type}`;
}

/** The problem and the next step, in the words of the REST API. */
export function restMessage({ message, advice }: Pick<ParleyError, 'message' | 'advice'>): string {
  return advice === undefined ? message : `${message} ${words[advice.kind](advice.type)}`;
}

export function errorBody(error: ParleyError): ErrorBody {
  const { code } = error;
  const message = restMessage(error);
  return { error: { message, type: errorType(error), param: error.param ?? null, code } };
}

/** The same in the shape of the Messages API, whose errors have a `type` and the request's id around them. */
export function messageErrorBody(error: ParleyError, requestId: string) {
  const body = errorBody(error).error;
  return { type: 'error', error: { ...body, type: messageErrorType(error) }, request_id: requestId };
}

/** Headers that say whether and when a client should try again. */
export function errorHeaders(error: ParleyError): Record<string, string> {
  return {
    ...(error.retryAfterSeconds !== undefined && {
      'retry-after': String(Math.ceil(error.retryAfterSeconds)),
    }),
    ...(error.mustNotRepeat && { 'x-should-retry': 'false' }),
    ...(error.code === 'invalid_api_key' && { 'www-authenticate': 'Bearer' }),
  };
}

/** An upstream's status may also be one that is not named here. */
const messageErrorTypes: Readonly<Record<number, string>> = {
  401: 'authentication_error',
  402: 'billing_error',
  403: 'permission_error',
  404: 'not_found_error',
  413: 'request_too_large',
  429: 'rate_limit_error',
  503: 'overloaded_error',
  529: 'overloaded_error',
};

function messageErrorType(error: ParleyError): string {
  const { code, httpStatus } = error;
  const isOfUpstream = code === 'upstream_error' && httpStatus < 429;
  const other = httpStatus >= 500 ? 'api_error' : 'invalid_request_error';
  return isOfUpstream ? 'api_error' : (messageErrorTypes[httpStatus] ?? other);
}

/**
 * The coarse `type` beside the code, in the words of hosted APIs. An upstream's 401 or 402 must not read as Parley's
 * own.
 */
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
