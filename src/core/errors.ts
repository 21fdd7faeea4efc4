/**
 * The one table of error codes: what a code means on HTTP, in gRPC and for a client that wonders whether to retry.
 * Codes of speech come from the contract's table 7.1; the others are decided in the design where it is silent.
 */

/** The canonical gRPC status names, spelled as in google.rpc.Code. */
export type GrpcCode =
  | 'INVALID_ARGUMENT'
  | 'UNAUTHENTICATED'
  | 'PERMISSION_DENIED'
  | 'FAILED_PRECONDITION'
  | 'RESOURCE_EXHAUSTED'
  | 'NOT_FOUND'
  | 'ABORTED'
  | 'CANCELLED'
  | 'INTERNAL'
  | 'UNAVAILABLE';

interface ErrorRule {
  readonly http: number;
  readonly grpc: GrpcCode;
  /** Whether the same request may succeed later without a change by the client. */
  readonly retryable: boolean;
  /** What to do next, in words for the caller. A more precise text may stand in its place. */
  readonly message: string;
}

const rule = (http: number, grpc: GrpcCode, message: string, retryable = false): ErrorRule => ({
  http,
  grpc,
  retryable,
  message,
});

export const errorTable = {
  invalid_request_error: rule(400, 'INVALID_ARGUMENT', 'The body is not valid. Send a JSON object.'),
  missing_model: rule(400, 'INVALID_ARGUMENT', 'Send `model`, an id from GET /models.'),
  missing_input: rule(400, 'INVALID_ARGUMENT', 'Send `input`, the text to speak.'),
  invalid_input: rule(400, 'INVALID_ARGUMENT', 'A field has a value of the wrong kind.'),
  unknown_model: rule(
    400,
    'INVALID_ARGUMENT',
    'There is no such model. GET /models lists those your key can call.',
  ),
  input_too_long: rule(400, 'INVALID_ARGUMENT', '`input` is too long.'),
  unsupported_response_format: rule(
    400,
    'INVALID_ARGUMENT',
    '`response_format` is not one that is offered here.',
  ),
  unknown_voice: rule(
    400,
    'INVALID_ARGUMENT',
    'The model has no such voice. GET /models?type=speech lists its voices.',
  ),
  missing_file: rule(400, 'INVALID_ARGUMENT', 'Send the audio as the form field `file`.'),
  invalid_file: rule(400, 'INVALID_ARGUMENT', 'The file is empty or no audio could be read from it.'),
  unsupported_file_format: rule(
    400,
    'INVALID_ARGUMENT',
    'The file is in none of the supported formats: flac, m4a, mp3, mp4, mpeg, mpga, oga, ogg, wav, webm.',
  ),
  missing_messages: rule(400, 'INVALID_ARGUMENT', 'Send `messages`, the conversation so far.'),
  invalid_messages: rule(
    400,
    'INVALID_ARGUMENT',
    '`messages` is not a conversation of objects with a role and content.',
  ),
  invalid_parameter: rule(400, 'INVALID_ARGUMENT', 'A parameter has a value that is not allowed.'),
  invalid_api_key: rule(401, 'UNAUTHENTICATED', 'Send a valid API key as `Authorization: Bearer <API_KEY>`.'),
  subscription_required: rule(
    402,
    'FAILED_PRECONDITION',
    'Speech and transcription need an active plan or trial, which the operator of this server opens with `parley plan start-trial <account>` or `parley plan activate <account> --until <when>`. Loading credits does not enable them.',
  ),
  fair_use_limit_reached: rule(402, 'RESOURCE_EXHAUSTED', 'The fair-use limit of this month is reached.'),
  insufficient_credits: rule(
    402,
    'FAILED_PRECONDITION',
    'The credits left do not cover this request. The operator of this server loads more with `parley credits load <account> <amount> --reason <text>`.',
  ),
  insufficient_scope: rule(403, 'PERMISSION_DENIED', 'This API key is not allowed to do this.'),
  not_found: rule(404, 'NOT_FOUND', 'There is nothing at this path for this method.'),
  idempotency_conflict: rule(409, 'ABORTED', 'This Idempotency-Key was used for another request.'),
  payload_too_large: rule(413, 'RESOURCE_EXHAUSTED', 'The request body is too large.'),
  rate_limit_exceeded: rule(429, 'RESOURCE_EXHAUSTED', 'Too many requests. Wait, then try again.', true),
  /** Nobody reads it: the client has left. 499 is the custom of proxies for the record of such a request. */
  request_cancelled: rule(499, 'CANCELLED', 'The client ended the request.'),
  internal_error: rule(
    500,
    'INTERNAL',
    'The server failed on this request. Try again, and report the request id.',
    true,
  ),
  upstream_error: rule(502, 'UNAVAILABLE', 'The engine behind this model failed. Try again.', true),
  overloaded: rule(503, 'UNAVAILABLE', 'The server is busy. Wait, then try again.', true),
  engine_unavailable: rule(
    503,
    'UNAVAILABLE',
    'The engine for this operation is not installed on this server.',
  ),
} as const satisfies Record<string, ErrorRule>;

export type ErrorCode = keyof typeof errorTable;

export interface ErrorDetails {
  /** Replaces the table's message. Says what to do next; never an upstream's words, a stack or a secret. */
  readonly message?: string;
  /** The field that the error is about, as a path such as `messages[0].role`. */
  readonly param?: string;
  /** Seconds after which a retry makes sense; sent as Retry-After. */
  readonly retryAfterSeconds?: number;
  /** The status of an upstream, which is passed through in place of the table's. */
  readonly upstreamStatus?: number;
  /** The engine cannot have begun with it: the same request may be given to another engine, or again. Default: false. */
  readonly hasNotRun?: boolean;
  /** What the operator's log needs; it never reaches the caller. */
  readonly cause?: unknown;
}

/** An error of the domain. Every failure that reaches a caller is one of these. */
export class ParleyError extends Error {
  readonly code: ErrorCode;
  readonly param: string | undefined;
  readonly retryAfterSeconds: number | undefined;
  readonly httpStatus: number;
  readonly hasNotRun: boolean;

  constructor(code: ErrorCode, details: ErrorDetails = {}) {
    super(details.message ?? errorTable[code].message, { cause: details.cause });
    this.name = 'ParleyError';
    this.code = code;
    this.param = details.param;
    this.retryAfterSeconds = details.retryAfterSeconds;
    this.hasNotRun = details.hasNotRun ?? false;
    this.httpStatus = details.upstreamStatus ?? errorTable[code].http;
  }

  /** Whether the request was turned away by Parley's own checks, rather than lost on the way. */
  get isRefusal(): boolean {
    return this.code !== 'upstream_error' && this.httpStatus < 500 && this.code !== 'request_cancelled';
  }
}

/** Translates whatever was thrown: what is not of the domain is an internal error, its cause kept for the log. */
export function toParleyError(error: unknown): ParleyError {
  return error instanceof ParleyError ? error : new ParleyError('internal_error', { cause: error });
}
