/** Errors as OpenAI's Realtime protocol has them. */
import { ParleyError } from '../../core/values/errors.ts';
import { restMessage } from '../rest/errors.ts';

/** An error with a code on which OpenAI's clients depend. */
export class RealtimeError extends ParleyError {
  readonly realtimeCode: string;

  constructor(realtimeCode: string, message: string, param?: string) {
    super('invalid_input', { message, ...(param !== undefined && { param }) });
    this.realtimeCode = realtimeCode;
  }
}

export function invalid(param: string | undefined, message: string): ParleyError {
  return new ParleyError('invalid_input', { message, ...(param !== undefined && { param }) });
}

/** @param error the description of an `error` event, and of a turn or a response that failed */
export function describeError(error: ParleyError) {
  const type = error.httpStatus >= 500 ? 'server_error' : 'invalid_request_error';
  const code = error instanceof RealtimeError ? error.realtimeCode : error.code;
  return { type, code, message: restMessage(error), param: error.param ?? null };
}
