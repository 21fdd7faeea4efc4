/** What a caller is told where an upstream fails, in words of our own. The error's cause, for the log, has the name of the upstream's error. */
import { type ErrorDetails, ParleyError } from '../../core/errors.ts';
import type { AnswerHeaders } from './answer-headers.ts';
import { errorName, inBrackets } from './error-name.ts';

/** A wait that an upstream asks for is passed on up to a day. */
const retryAfterSecondsMax = 86_400;

/** How far a request came that has no whole answer. */
export type LostAt =
  /** No connection: refused, unknown host, TLS, or none in time. The request was not sent. */
  | 'connecting'
  /** The connection went before the answer began. */
  | 'unanswered'
  /** The answer did not begin in time. */
  | 'late'
  /** The connection went within the answer. */
  | 'cut'
  /** The answer paused for too long. */
  | 'idle';

const lostWords: Record<LostAt, string> = {
  connecting: 'The engine behind this model cannot be reached. Try again.',
  unanswered: 'The engine behind this model closed the connection without an answer. Try again.',
  late: 'The engine behind this model did not answer in time. Try again, or ask for less.',
  cut: 'The engine behind this model broke off its answer. Try again.',
  idle: 'The engine behind this model stopped in the middle of its answer. Try again.',
};

/** A request that was lost on the way. */
export class Lost extends Error {
  readonly at: LostAt;

  constructor(at: LostAt, cause?: unknown) {
    super(`lost while ${at}`, { cause });
    this.name = 'Lost';
    this.at = at;
  }

  /** Whether it says that the upstream cannot be reached, rather than that it is slow. */
  get isUnreachable(): boolean {
    return this.at === 'connecting' || this.at === 'unanswered';
  }
}

export function lostError(lost: Lost): ParleyError {
  return new ParleyError('upstream_error', {
    message: lostWords[lost.at],
    hasNotRun: lost.at === 'connecting',
    cause: lost.cause ?? lost,
  });
}

/** The error of an answer that cannot be what was asked for. `what` is for the operator's log. */
export function malformedResponse(what: string, cause?: unknown): ParleyError {
  return new ParleyError('upstream_error', {
    message: 'The engine behind this model sent an answer that makes no sense. Try again.',
    // The error of a parser quotes what it could not read, and that may be what was said.
    cause: new Error(what, cause instanceof SyntaxError ? {} : { cause }),
  });
}

/** The error of a call that took longer than it may in all. */
export function timeUp(totalMs: number): ParleyError {
  return new ParleyError('upstream_error', {
    message: 'The engine behind this model took too long. Try again, or ask for less.',
    cause: new Error(`the call took longer than ${totalMs} ms`),
  });
}

export interface Refusal {
  readonly status: number;
  readonly headers: AnswerHeaders;
  /** The beginning of what the upstream said. */
  readonly words: string;
}

/** What servers of this API call a model that they do not have. */
const unknownModelNames = ['unknown_model', 'model_not_found'];
const modelUnknownWords =
  'The engine behind this model does not know a model of the name that it is asked for. Only the operator of this server can mend that.';

/** An answer with another status than 2xx, in words for the log. */
export class RefusedError extends Error {
  /** The model is not there by the name that the configuration gives it, whichever status says so. */
  readonly isModelUnknown: boolean;

  /** @param name what the upstream calls its error */
  constructor(status: number, name: string | undefined) {
    super(`the upstream answered ${status}${inBrackets(name)}`);
    this.name = 'RefusedError';
    this.isModelUnknown = name !== undefined && unknownModelNames.includes(name);
  }
}

/** The error of an answer with another status than 2xx. @param isTurnedAway whether that status says that nothing was run */
export function refusalError({ status, headers, words }: Refusal, isTurnedAway: boolean): ParleyError {
  const cause = new RefusedError(status, errorName(words));
  if (status < 400 || status > 599) return new ParleyError('upstream_error', { cause });
  const retryAfterSeconds = readRetryAfter(headers['retry-after'], Date.now());
  const details: ErrorDetails = {
    message: cause.isModelUnknown ? modelUnknownWords : refusalWords(status),
    upstreamStatus: status,
    hasNotRun: isTurnedAway,
    cause,
  };
  return new ParleyError(
    'upstream_error',
    retryAfterSeconds === undefined ? details : { ...details, retryAfterSeconds },
  );
}

function refusalWords(status: number): string {
  switch (status) {
    case 401:
    case 403:
      return 'The engine behind this model does not accept the key of this server. Only the operator of this server can mend that.';
    case 402:
      return 'The engine behind this model has no credits left for this server. Only the operator of this server can mend that.';
    case 404:
      return modelUnknownWords;
    case 408:
    case 504:
      return 'The engine behind this model did not finish in time. Try again, or ask for less.';
    case 413:
      return 'The request is too large for this model. Send less.';
    case 429:
      return 'The engine behind this model has had too many requests. Wait, then try again.';
    case 503:
      return 'The engine behind this model is busy. Wait, then try again.';
    default:
      return status < 500
        ? 'The model refused the request. Check its fields against what the model takes.'
        : 'The engine behind this model failed. Try again.';
  }
}

/** Whole seconds from now, of a Retry-After in seconds or as an HTTP date. Undefined where it is neither. */
export function readRetryAfter(value: string | string[] | undefined, nowMs: number): number | undefined {
  const text = (Array.isArray(value) ? value[0] : value)?.trim();
  if (!text) return undefined;
  const isNumber = /^\d+(\.\d+)?$/.test(text);
  // A date has the name of its month in it; without one, Date.parse takes almost anything for a year.
  if (!isNumber && !/[a-z]{3}/i.test(text)) return undefined;
  const seconds = isNumber ? Number(text) : (Date.parse(text) - nowMs) / 1000;
  if (Number.isNaN(seconds)) return undefined;
  return Math.min(Math.max(Math.ceil(seconds), 0), retryAfterSecondsMax);
}

/** The error of an answer that began well and then tells of an error. */
export function upstreamSaid(words: string): ParleyError {
  return new ParleyError('upstream_error', {
    message: 'The engine behind this model failed on this request. Try again.',
    cause: new Error(`the upstream reports an error${inBrackets(errorName(words))}`),
  });
}
