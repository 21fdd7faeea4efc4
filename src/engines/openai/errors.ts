/**
 * Translates failures of an upstream. The message is for the client. The cause is for the log and has the upstream's
 * error name.
 */
import type { IncomingHttpHeaders } from 'node:http';
import type { Excess } from '../../codec/json-scan.ts';
import {
  contextLengthExceeded,
  type ErrorDetails,
  ParleyError,
  type UpstreamAnswer,
} from '../../core/values/errors.ts';
import { answerLimits } from '../answer-limits.ts';
import { clientError, readError } from './client-errors.ts';

/**
 * Client messages for failures of an upstream, shared by the engines that call one. The upstream's own words stay in
 * the log.
 */
const upstreamMessages = {
  unreachable: 'The engine behind this model cannot be reached. Try again.',
  tooSlow: 'The engine behind this model took too long. Try again, or ask for less.',
  tooManyRequests: 'The engine behind this model has had too many requests. Wait, then try again.',
  busy: 'The engine behind this model is busy. Wait, then try again.',
  keyRefused: forOperator('does not accept the key of this server'),
  noCredits: forOperator('has no credits left for this server'),
  unknownModel: forOperator('does not know the model name that this server uses for it'),
} as const;

/** The message of a failure that a client cannot fix. */
function forOperator(failure: string): string {
  return `The engine behind this model ${failure}. Only the operator of this server can fix that.`;
}

/** A map, as a name of the upstream may be one of every object, such as `constructor`. */
function namesOf<T>(names: Readonly<Record<string, T>>): ReadonlyMap<string, T> {
  return new Map(Object.entries(names));
}

const stageMessages = {
  /** No connection: refused, unknown host, TLS, or timeout. The request was not sent. */
  connecting: upstreamMessages.unreachable,
  /** The connection closed before the answer began. */
  waiting: 'The engine behind this model closed the connection without an answer. Try again.',
  /** The answer did not begin in time. */
  late: 'The engine behind this model did not answer in time. Try again, or ask for less.',
  /** The connection closed within the answer. */
  reading: 'The engine behind this model broke off its answer. Try again.',
  /** The answer paused for too long. */
  idle: 'The engine behind this model stopped in the middle of its answer. Try again.',
};

/** A request that ended without a whole answer. */
export class ConnectionError extends ParleyError {
  readonly stage: keyof typeof stageMessages;

  constructor(stage: keyof typeof stageMessages, cause: unknown) {
    super('upstream_error', {
      message: stageMessages[stage],
      hasNotRun: stage === 'connecting',
      hasRun: stage === 'late' || stage === 'reading' || stage === 'idle',
      isLate: stage === 'late' || stage === 'idle',
      cause,
    });
    this.stage = stage;
  }
}

/** @param reason for the operator's log */
export function malformedResponse(reason: string, cause?: unknown): ParleyError {
  return new ParleyError('upstream_error', {
    message: 'The engine behind this model sent a malformed response. Try again.',
    hasRun: true,
    // A parser's error quotes its input, which may be a user's words.
    cause: new Error(reason, cause instanceof SyntaxError ? {} : { cause }),
  });
}

/** The error of an answer with more bytes than its request allows. */
export function tooLarge(bytesMax: number): ParleyError {
  return malformedResponse(`the answer is larger than ${bytesMax} bytes`);
}

/** @throws `upstream_error` for an answer that exceeds a limit */
export function refuseExcess(excess: Excess | undefined): void {
  if (excess === 'levelsMax')
    throw malformedResponse(`the answer has more than ${answerLimits.levelsMax} levels`);
  if (excess === 'elementsMax') {
    throw malformedResponse(`the answer has more than ${answerLimits.elementsMax} elements`);
  }
}

/** The error of a call that exceeded its total time. */
export function timeUp(totalMs: number): ParleyError {
  return new ParleyError('upstream_error', {
    message: upstreamMessages.tooSlow,
    hasRun: true,
    isTimeLimit: true,
    isLate: true,
    cause: new Error(`the call took longer than ${totalMs} ms`),
  });
}

/**
 * The error of an answer that began with status 200 and then reports an error.
 * @param body the JSON of the error
 * @param ownKey the key of the engine, which the log must not have
 * @param hasBegun whether some of the answer came before it. Default: false
 */
export function reportedError(body: string, ownKey: string | undefined, hasBegun = false): ParleyError {
  const code = errorName(body, ownKey);
  const upstream = { code };
  const cause = new Error(`the upstream reports an error${inBrackets(code)}`);
  const tooLong = hasBegun ? undefined : contextError(body, { cause, upstream });
  if (tooLong) return tooLong;
  return new ParleyError('upstream_error', {
    message:
      messagesOfNames.get(code ?? '') ?? 'The engine behind this model failed on this request. Try again.',
    hasRun: true,
    upstream,
    cause,
  });
}

/** The status that an answer over HTTP would have, by the name of an error in an event. */
const statusesOfNames = namesOf({
  invalid_api_key: 401,
  insufficient_credits: 402,
  fair_use_limit_reached: 402,
  subscription_required: 402,
  insufficient_scope: 403,
  model_not_found: 404,
  insufficient_quota: 429,
  rate_limit_exceeded: 429,
  overloaded: 503,
});

/**
 * The error of an event, which is worded as that of an answer.
 * @param body JSON with the member `error`
 */
export function eventError(body: string, ownKey: string | undefined): ParleyError {
  const status = statusesOfNames.get(errorName(body, ownKey) ?? '');
  if (status === undefined) return reportedError(body, ownKey);
  return statusError({ status, headers: {}, body, ownKey }, false);
}

/** Messages by the name of the error, under any status. */
const messagesOfNames = namesOf({
  unknown_model: upstreamMessages.unknownModel,
  model_not_found: upstreamMessages.unknownModel,
  // Of OpenAI, Kimi and Qwen, whose status may be that of too many requests.
  insufficient_quota: upstreamMessages.noCredits,
  billing_not_active: upstreamMessages.noCredits,
  billing_hard_limit_reached: upstreamMessages.noCredits,
  exceeded_current_quota_error: upstreamMessages.noCredits,
  Arrearage: upstreamMessages.noCredits,
  insufficient_scope: forOperator('does not allow this operation to this server'),
  subscription_required: forOperator('has no active plan for this server'),
  fair_use_limit_reached: forOperator('has reached the fair-use limit of this server'),
  engine_unavailable: forOperator('cannot do this'),
});

const refusingStatuses: ReadonlySet<number> = new Set([400, 413, 422]);
const limitName = /max_tokens|max_completion_tokens/;
/** Words for an unknown parameter. Complaints about a parameter's value contain none of them. */
const notTaken =
  /\binstead\b|unsupported|not supported?\b|unrecognized|unknown (parameter|argument|field|name)|unexpected|not permitted/i;

/** An answer with a status other than 2xx, for the log. */
export class StatusError extends Error {
  /** Replaces the message of the status, for failures that only the operator can fix. */
  readonly clientMessage: string | undefined;
  /** Whether the account of this server at the upstream has no credits left. */
  readonly isAccountEmpty: boolean;
  /** Whether the upstream refuses the parameter that carried the limit. */
  readonly isLimitNameRefused: boolean;
  readonly answer: UpstreamAnswer;

  constructor({ status, headers, body, ownKey }: ErrorResponse) {
    const name = errorName(body, ownKey);
    const id = readName(headers['x-request-id'], ownKey);
    super(`the upstream answered ${status}${inBrackets([name, id].filter(Boolean).join(', ') || undefined)}`);
    this.name = 'StatusError';
    this.answer = { status, code: name };
    this.clientMessage = messagesOfNames.get(name ?? '');
    this.isAccountEmpty = (this.clientMessage ?? statusMessage(status)) === upstreamMessages.noCredits;
    this.isLimitNameRefused = refusingStatuses.has(status) && limitName.test(body) && notTaken.test(body);
  }
}

interface ErrorResponse {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly retryAfterSeconds?: number | undefined;
  /** Beginning of the body. */
  readonly body: string;
  /** The key of the engine, which the log must not have. */
  readonly ownKey: string | undefined;
  /** Whether another Parley sent it. Default: false. */
  readonly isParley?: boolean | undefined;
  /** The JSON of a request whose fields may be named to the client. Default: none are. */
  readonly sent?: Uint8Array | undefined;
}

/** @param hasNotRun whether this status means that the request did not run */
export function statusError(answer: ErrorResponse, hasNotRun: boolean): ParleyError {
  const { status, body, retryAfterSeconds } = answer;
  const cause = new StatusError(answer);
  const upstream = cause.answer;
  if (status < 400 || status > 599) return new ParleyError('upstream_error', { cause, upstream });
  const details = { cause, upstream, ...(retryAfterSeconds !== undefined && { retryAfterSeconds }) };
  const tooLong = refusingStatuses.has(status) && !cause.isLimitNameRefused && contextError(body, details);
  if (tooLong) return tooLong;
  const forClient = cause.clientMessage === undefined && clientError(answer, details);
  if (forClient) return forClient;
  const message = cause.clientMessage ?? statusMessage(status);
  return new ParleyError('upstream_error', { ...details, message, httpStatus: status, hasNotRun });
}

function statusMessage(status: number): string {
  switch (status) {
    case 401:
    case 403:
      return upstreamMessages.keyRefused;
    case 402:
      return upstreamMessages.noCredits;
    case 404:
      return upstreamMessages.unknownModel;
    case 408:
    case 504:
      return 'The engine behind this model did not finish in time. Try again, or ask for less.';
    case 413:
      return 'The request is too large for this model. Send less.';
    case 429:
      return upstreamMessages.tooManyRequests;
    case 503:
      return upstreamMessages.busy;
    default:
      return status < 500
        ? 'The model refused the request. Check its fields against those that the model accepts.'
        : 'The engine behind this model failed. Try again.';
  }
}

const namePattern = /^[\w.-]{1,100}$/;

/**
 * The upstream's name for its error, such as `model_not_found`; undefined if it has none. Its sentences are left out, as
 * they may repeat a prompt.
 */
function errorName(body: string, ownKey: string | undefined): string | undefined {
  const { code, type } = readError(body);
  return [code, type].map((name) => readName(name, ownKey)).find(Boolean);
}

function readName(name: unknown, ownKey: string | undefined): string | undefined {
  return typeof name === 'string' && namePattern.test(name) ? withoutKeys(name, ownKey) : undefined;
}

function inBrackets(name: string | undefined): string {
  return name === undefined ? '' : ` (${name})`;
}

const removed = '[key]';
/** Long enough to be a key. */
const longWord = /[\w.~+/=-]{12,}/g;
/** Ids of requests, which the operator needs. */
const requestId = /^(req_[\da-z]+|[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12})$/i;
const keyPrefix = /^(sk|pk|rk|gsk|xai|hf|ghp|key|api|bearer)[-_]|^AIza/i;

/** An upstream's words may repeat the key that it was called with. @param ownKey the key of the engine */
export function withoutKeys(text: string, ownKey: string | undefined): string {
  const others = ownKey ? text.replaceAll(ownKey, removed) : text;
  return others.replace(longWord, (word) => (isKeyLike(word) ? removed : word));
}

/** Names of errors have words of letters: `context_length_exceeded`. */
function isKeyLike(word: string): boolean {
  if (requestId.test(word)) return false;
  return keyPrefix.test(word) || word.split(/[^A-Za-z\d]/).some(isRandom);
}

/** A run of characters that looks like a key: it has digits, more capitals than a word, or more letters. */
function isRandom(run: string): boolean {
  const [digits, capitals] = [/\d/g, /[A-Z]/g].map((kind) => run.match(kind)?.length ?? 0) as [
    number,
    number,
  ];
  const isOneCase = capitals === 0 || capitals === run.length;
  if (digits > 0) return run.length >= 12 && digits < run.length;
  return isOneCase ? run.length > 24 : run.length >= 12 && capitals * 3 > run.length;
}

/** Names of the error in its `code` or `type`: of OpenAI and its like, and of llama.cpp. */
const names = /"(context_length_exceeded|exceed_context_size_error)"/;
/** Sentences of vLLM, SGLang, TGI, DeepSeek, Mistral, Gemini, Kimi, Qwen, Anthropic, Bedrock, Cohere, Together, xAI and older versions of llama.cpp. */
const sentences =
  /context (length|size|window|limit)|prompt is too long|input token count|exceeded model token limit|range of input length|maximum prompt length|input is too long|`inputs` (tokens|must have)|tokens: size limit exceeded/i;
/** Sentences about the limit of the answer alone. */
const ofAnswer = /^\W*(max_tokens|max_completion_tokens|max_output_tokens)\b/i;
const maximum =
  /(?:maximum context length (?:is|of)|maximum number of tokens allowed|token limit|context length|context size|n_ctx"|(?<=>)|\d,)[\s:(]*(\d+)|(\d+) maximum context/i;
/** Longer numbers, and those within a word, are ids and times. */
const someNumber = /(?<![\w-])\d{1,9}(?![\w-])/g;

/** An event may be long: the error stands at its beginning, as in the body of a status. */
const readLength = 4_096;

/**
 * The error for the client; undefined if the upstream refuses the request for another reason. The upstream's words are
 * not passed on, only the numbers in them.
 * @param json of the error, perhaps cut off
 */
function contextError(json: string, details: ErrorDetails): ParleyError | undefined {
  const body = json.slice(0, readLength);
  if (!names.test(body) && (!sentences.test(body) || ofAnswer.test(messageOf(body)))) return undefined;
  return contextLengthExceeded(tokensIn(body), details);
}

function tokensIn(body: string) {
  const [, first, second] = maximum.exec(body) ?? [];
  const most = Number(first ?? second);
  const prompt = Math.max(...(body.match(someNumber) ?? []).map(Number));
  return prompt > most ? { prompt, maximum: most } : undefined;
}

function messageOf(body: string): string {
  return /"message"\s*:\s*"([^"]*)/.exec(body)?.[1] ?? '';
}
