/**
 * Errors of another Parley. A refusal of the request itself keeps its code, as a local engine would refuse it too and the
 * client can fix it. Everything else, such as a refusal of this server's key, stays an `upstream_error`.
 */
import { isObject } from '../../codec/shape.ts';
import { type ErrorCode, type ErrorDetails, ParleyError } from '../../core/values/errors.ts';

/** Codes that are passed on, with a message that replaces the table's. The other server's message is not passed on. */
const clientErrors: Readonly<Partial<Record<ErrorCode, string | undefined>>> = {
  invalid_input: '`input` has nothing that can be spoken: send words or numbers.',
  input_too_long: undefined,
  unknown_voice: undefined,
  unsupported_response_format: undefined,
  invalid_file: undefined,
  unsupported_file_format: undefined,
  payload_too_large: undefined,
  invalid_messages: undefined,
  invalid_parameter: 'The engine behind this model refuses the value of a parameter.',
};

/** The form that the other server's `param` must have to be passed on. */
const fieldPath = /^[\w.[\]-]{1,100}$/;

/** The error for the client; undefined if only an operator can fix it. @param body JSON with the member `error` */
export function clientError(
  body: string,
  details: Pick<ErrorDetails, 'cause' | 'retryAfterSeconds' | 'upstream'>,
): ParleyError | undefined {
  const { code, param } = readError(body);
  if (!isClientCode(code)) return undefined;
  const message = clientErrors[code];
  return new ParleyError(code, {
    ...details,
    ...(message !== undefined && { message }),
    ...(typeof param === 'string' && fieldPath.test(param) && { param }),
  });
}

function isClientCode(code: unknown): code is ErrorCode {
  return typeof code === 'string' && Object.hasOwn(clientErrors, code);
}

function readError(body: string): Readonly<Record<string, unknown>> {
  try {
    const json: unknown = JSON.parse(body);
    return isObject(json) && isObject(json['error']) ? json['error'] : {};
  } catch {
    return {};
  }
}
