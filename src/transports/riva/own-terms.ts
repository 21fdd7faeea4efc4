/** Errors of core in the names of Riva's fields. */
import { ParleyError, toParleyError } from '../../core/values/errors.ts';

/** Riva's names by core's. */
export type Names = Readonly<Record<string, string>>;

/** The error for Riva's clients. An error without a field stays as it is. */
export function inOwnTerms(thrown: unknown, names: Names): ParleyError {
  const error = toParleyError(thrown);
  const { code, param, message, advice } = error;
  const name = param === undefined ? undefined : names[param];
  if (name === undefined) return error;
  const inOwnTerms = Object.entries(names).reduce(
    (text, [from, to]) => text.replaceAll(`\`${from}\``, `\`${to}\``),
    message,
  );
  return new ParleyError(code, { message: inOwnTerms, advice, param: name, cause: error });
}

export function invalid(param: string, message: string): ParleyError {
  return new ParleyError('invalid_input', { message, param });
}
