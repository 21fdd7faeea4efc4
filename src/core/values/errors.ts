/**
 * The one table of error codes: HTTP status, gRPC status, whether to retry, and the message. The codes for speech are
 * those of table 7.1 of the API's contract; the others follow its pattern.
 */

/** The canonical gRPC status names, spelled as in google.rpc.Code. */
export type GrpcCode =
  | 'INVALID_ARGUMENT'
  | 'DEADLINE_EXCEEDED'
  | 'UNAUTHENTICATED'
  | 'PERMISSION_DENIED'
  | 'FAILED_PRECONDITION'
  | 'RESOURCE_EXHAUSTED'
  | 'NOT_FOUND'
  | 'ABORTED'
  | 'CANCELLED'
  | 'UNIMPLEMENTED'
  | 'INTERNAL'
  | 'UNAVAILABLE';

/** The next step for the caller, as data. Each transport, and the command line, words it in its own way. */
export interface Advice {
  readonly kind: AdviceKind;
  /** The type of model for `list_models`, `choose_model` and `list_voices`. */
  readonly type?: 'speech' | 'transcription' | 'chat' | undefined;
}
export const adviceKinds = [
  'list_models',
  'choose_model',
  'list_voices',
  'send_key',
  'open_subscription',
  'load_credits',
] as const;
export type AdviceKind = (typeof adviceKinds)[number];

interface ErrorRule {
  readonly http: number;
  readonly grpc: GrpcCode;
  /** Whether the same request may succeed later without a change by the client. */
  readonly retryable: boolean;
  /** The problem in a sentence, independent of the transport. An error may carry a more precise one. */
  readonly message: string;
  readonly advice?: Advice;
}

const rule = (http: number, grpc: GrpcCode, message: string, more: Partial<ErrorRule> = {}): ErrorRule => ({
  http,
  grpc,
  message,
  retryable: false,
  ...more,
});

const badRequest = (message: string, more?: Partial<ErrorRule>) =>
  rule(400, 'INVALID_ARGUMENT', message, more);

const retryable = { retryable: true };

export const errorTable = {
  invalid_request_error: badRequest('The body is not valid. Send a JSON object.'),
  missing_model: badRequest('Send `model`, the id of a model.', { advice: { kind: 'list_models' } }),
  missing_input: badRequest('Send `input`, the text to speak.'),
  invalid_input: badRequest('A field has a value of the wrong kind.'),
  unknown_model: badRequest('There is no such model.', { advice: { kind: 'choose_model' } }),
  input_too_long: badRequest('`input` is too long.'),
  unsupported_response_format: badRequest('This server does not offer that `response_format`.'),
  unknown_voice: badRequest('The model has no such voice.', {
    advice: { kind: 'list_voices', type: 'speech' },
  }),
  missing_file: badRequest('Send the audio as the form field `file`.'),
  invalid_file: badRequest('The file is empty or no audio could be read from it.'),
  unsupported_file_format: badRequest(
    'The file is in none of the supported formats: flac, m4a, mp3, mp4, mpeg, mpga, oga, ogg, wav, webm.',
  ),
  missing_messages: badRequest('Send `messages`, the conversation so far.'),
  invalid_messages: badRequest('`messages` is not a conversation of objects with a role and content.'),
  context_length_exceeded: badRequest('The prompt is too long for the model. Send less.'),
  invalid_parameter: badRequest('A parameter has a value that is not allowed.'),
  content_filter: badRequest('The filter of the engine behind this model refuses the content.'),
  guard_refused: badRequest('The operator of this server does not allow this chat.'),
  too_many_keys: badRequest('The account has the maximum number of keys. Revoke one first.'),
  invalid_api_key: rule(401, 'UNAUTHENTICATED', 'A valid API key is missing.', {
    advice: { kind: 'send_key' },
  }),
  subscription_required: rule(
    402,
    'FAILED_PRECONDITION',
    'Speech and transcription need an active plan or trial. Loading credits does not enable them.',
    { advice: { kind: 'open_subscription' } },
  ),
  fair_use_limit_reached: rule(402, 'RESOURCE_EXHAUSTED', 'The fair-use limit of this month is reached.'),
  budget_exceeded: rule(
    402,
    'RESOURCE_EXHAUSTED',
    'The budget of the key or the account does not cover this request.',
  ),
  insufficient_credits: rule(402, 'FAILED_PRECONDITION', 'The credits left do not cover this request.', {
    advice: { kind: 'load_credits' },
  }),
  insufficient_scope: rule(403, 'PERMISSION_DENIED', 'This API key is not allowed to do this.'),
  account_suspended: rule(
    403,
    'PERMISSION_DENIED',
    'The account is suspended. Ask the operator of this server.',
  ),
  not_found: rule(404, 'NOT_FOUND', 'There is nothing at this path for this method.'),
  idempotency_conflict: rule(409, 'ABORTED', 'This Idempotency-Key was used for another request.'),
  payload_too_large: rule(413, 'RESOURCE_EXHAUSTED', 'The request body is too large.'),
  rate_limit_exceeded: rule(429, 'RESOURCE_EXHAUSTED', 'Too many requests. Wait, then try again.', retryable),
  /** Only for the record, as the client has left. Proxies use 499 by custom. */
  request_cancelled: rule(499, 'CANCELLED', 'The client ended the request.'),
  internal_error: rule(
    500,
    'INTERNAL',
    'The server failed on this request. Try again, and report the request id.',
    retryable,
  ),
  upstream_error: rule(502, 'UNAVAILABLE', 'The engine behind this model failed. Try again.', retryable),
  overloaded: rule(503, 'UNAVAILABLE', 'The server is busy. Wait, then try again.', retryable),
  guard_unavailable: rule(
    503,
    'UNAVAILABLE',
    "The operator's check of chats does not work now. Wait, then try again.",
    retryable,
  ),
  engine_unavailable: rule(
    503,
    'UNAVAILABLE',
    'The engine for this operation is not installed on this server.',
  ),
} as const satisfies Record<string, ErrorRule>;

export type ErrorCode = keyof typeof errorTable;

/** The part of an upstream's error that a record keeps. Its sentences are not kept, as they may repeat a prompt. */
export interface UpstreamAnswer {
  /** Its HTTP status; undefined if an event of a stream has reported the error. */
  readonly status?: number | undefined;
  /** Its name of the error, such as `model_not_found`; undefined if it has none. */
  readonly code?: string | undefined;
}

/** The limit that a request does not fit into. */
export interface ReachedLimit {
  /** The id of an account or a key; `account` if only that can be meant. */
  readonly owner: string;
  readonly unit: string;
  /** A day, a month or `all`; undefined for amounts at once or per minute. */
  readonly period?: string;
  /** The amount that the request needs. */
  readonly amount: bigint;
  readonly limit: bigint;
  /** Amount that others have used and reserved. */
  readonly taken: bigint;
}

export interface ErrorDetails {
  /** Replaces the table's message. Must not contain an upstream's words, a stack, a secret or a transport's terms. */
  readonly message?: string;
  /** The next step. Default: the table's, or none if there is a message. */
  readonly advice?: Advice | undefined;
  /** The field that the error is about, as a path such as `messages[0].role`. */
  readonly param?: string;
  /** Seconds after which a retry makes sense, sent as Retry-After. */
  readonly retryAfterSeconds?: number | undefined;
  /** Replaces the table's: an upstream's status that is passed through, or that of a wrong method or content type. */
  readonly httpStatus?: number;
  /** Replaces the table's, for features that only RPCs have: deadlines and compressed messages. */
  readonly grpcCode?: GrpcCode;
  /** Whether the engine cannot have begun, so that the request may be sent again or to another engine. Default: false. */
  readonly hasNotRun?: boolean;
  /** Whether an engine has run for this request, so that another attempt costs its operator again. Default: false. */
  readonly hasRun?: boolean;
  /** Whether the server's own time limit ended the work: a chat's stream that has sent output ends whole. Default: false. */
  readonly isTimeLimit?: boolean;
  /** Whether an engine did not answer, or not go on, in time. Default: false. */
  readonly isLate?: boolean;
  readonly upstream?: UpstreamAnswer | undefined;
  readonly reached?: ReachedLimit | undefined;
  /** For the operator's log; never reaches the caller. */
  readonly cause?: unknown;
}

/** An error of the domain. Every failure that reaches a caller is one of these. */
export class ParleyError extends Error {
  readonly code: ErrorCode;
  readonly advice: Advice | undefined;
  readonly param: string | undefined;
  readonly retryAfterSeconds: number | undefined;
  readonly httpStatus: number;
  readonly hasNotRun: boolean;
  /** Also set where the call ends, for a failure after its engine has run. */
  hasRun: boolean;
  readonly isTimeLimit: boolean;
  readonly isLate: boolean;
  readonly upstream: UpstreamAnswer | undefined;
  readonly reached: ReachedLimit | undefined;
  readonly #grpcCode: GrpcCode | undefined;

  constructor(code: ErrorCode, details: ErrorDetails = {}) {
    super(details.message ?? errorTable[code].message, { cause: details.cause });
    this.name = 'ParleyError';
    this.code = code;
    this.advice = details.advice ?? (details.message === undefined ? adviceOf(code) : undefined);
    this.param = details.param;
    this.retryAfterSeconds = details.retryAfterSeconds;
    this.hasNotRun = details.hasNotRun ?? false;
    this.hasRun = details.hasRun ?? false;
    this.isTimeLimit = details.isTimeLimit ?? false;
    this.isLate = details.isLate ?? false;
    this.upstream = details.upstream;
    this.reached = details.reached;
    this.#grpcCode = details.grpcCode;
    this.httpStatus = details.httpStatus ?? errorTable[code].http;
  }

  /** Follows an upstream's status, so that a retry policy for UNAVAILABLE does not repeat a hopeless call. */
  get grpcCode(): GrpcCode {
    if (this.#grpcCode !== undefined) return this.#grpcCode;
    return this.code === 'upstream_error' ? upstreamGrpcCode(this.httpStatus) : errorTable[this.code].grpc;
  }

  /** Whether clients that repeat failed requests by themselves must not repeat this one. */
  get mustNotRepeat(): boolean {
    return this.hasRun || this.httpStatus === 402;
  }

  /** Whether Parley's own checks refused the request, as opposed to a failure. */
  get isRefusal(): boolean {
    return this.code !== 'upstream_error' && this.httpStatus < 500 && this.code !== 'request_cancelled';
  }
}

/**
 * gRPC codes by an upstream's status. Any other status below 500 is a request that the upstream refuses, any other
 * above a failure that may pass. An `upstream_error` always has details, so 501 and 504 cannot be mistaken for a
 * missing RPC or the client's deadline.
 */
const upstreamGrpcCodes: Readonly<Record<number, GrpcCode>> = {
  // Parley's operator must settle these with the upstream, not the client.
  401: 'FAILED_PRECONDITION',
  402: 'FAILED_PRECONDITION',
  403: 'FAILED_PRECONDITION',
  404: 'NOT_FOUND',
  // Timeouts of the upstream: another attempt may succeed.
  408: 'UNAVAILABLE',
  409: 'ABORTED',
  413: 'RESOURCE_EXHAUSTED',
  425: 'UNAVAILABLE',
  429: 'RESOURCE_EXHAUSTED',
  501: 'UNIMPLEMENTED',
  504: 'DEADLINE_EXCEEDED',
};

function upstreamGrpcCode(httpStatus: number): GrpcCode {
  return upstreamGrpcCodes[httpStatus] ?? (httpStatus >= 500 ? 'UNAVAILABLE' : 'INVALID_ARGUMENT');
}

function adviceOf(code: ErrorCode): Advice | undefined {
  const { advice }: ErrorRule = errorTable[code];
  return advice;
}

/** Translates any thrown value. An error from outside the domain becomes an internal error; its cause is kept for the log. */
export function toParleyError(error: unknown): ParleyError {
  return error instanceof ParleyError ? error : new ParleyError('internal_error', { cause: error });
}

/**
 * The error of a prompt that is too long for its model. Claude Code knows it by these words, and then shortens the
 * conversation by the numbers.
 * @param tokens of the prompt, which may be counted only until they exceed the maximum; undefined if they are not known
 */
export function contextLengthExceeded(
  tokens: { readonly prompt: number; readonly maximum: number } | undefined,
  details: ErrorDetails = {},
): ParleyError {
  const message =
    tokens && `The prompt is too long: ${tokens.prompt} tokens > ${tokens.maximum} maximum. Send less.`;
  return new ParleyError('context_length_exceeded', {
    param: 'messages',
    ...details,
    ...(message && { message }),
  });
}
