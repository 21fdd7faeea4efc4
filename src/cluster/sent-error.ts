/** Errors on their way from one process to another: those of the domain arrive as what they are, others with what a log needs. */
import { type ErrorCode, ParleyError } from '../core/errors.ts';

interface SentParleyError {
  readonly kind: 'parley';
  readonly code: ErrorCode;
  readonly message: string;
  readonly param: string | undefined;
  readonly retryAfterSeconds: number | undefined;
  readonly httpStatus: number;
  readonly hasNotRun: boolean;
  readonly cause: SentError | undefined;
}

interface SentOtherError {
  readonly kind: 'other';
  readonly name: string;
  readonly message: string;
  readonly stack: string | undefined;
  /** What the system or a library adds, such as `code` and `syscall`: numbers and texts only. */
  readonly facts: Readonly<Record<string, string | number>>;
  readonly cause: SentError | undefined;
}

export type SentError = SentParleyError | SentOtherError;

export function toSent(thrown: unknown): SentError {
  if (!(thrown instanceof Error)) {
    return {
      kind: 'other',
      name: 'Error',
      message: String(thrown),
      stack: undefined,
      facts: {},
      cause: undefined,
    };
  }
  const cause = thrown.cause === undefined ? undefined : toSent(thrown.cause);
  const { message } = thrown;
  if (thrown instanceof ParleyError) {
    const { code, param, retryAfterSeconds, httpStatus, hasNotRun } = thrown;
    return { kind: 'parley', code, message, param, retryAfterSeconds, httpStatus, hasNotRun, cause };
  }
  const { name, stack } = thrown;
  return { kind: 'other', name, message, stack, facts: factsOf(thrown), cause };
}

export function fromSent(sent: SentError): Error {
  const cause = sent.cause && fromSent(sent.cause);
  if (sent.kind === 'parley') {
    const { code, message, param, retryAfterSeconds, httpStatus, hasNotRun } = sent;
    return new ParleyError(code, {
      message,
      upstreamStatus: httpStatus,
      hasNotRun,
      cause,
      ...(param !== undefined && { param }),
      ...(retryAfterSeconds !== undefined && { retryAfterSeconds }),
    });
  }
  const error = new Error(sent.message, cause && { cause });
  // Where it was thrown says more than where it arrived.
  return Object.assign(error, { name: sent.name, stack: sent.stack ?? error.stack }, sent.facts);
}

function factsOf(error: Error): Record<string, string | number> {
  const facts = Object.entries(error).filter((entry): entry is [string, string | number] =>
    ['string', 'number'].includes(typeof entry[1]),
  );
  return Object.fromEntries(facts);
}
