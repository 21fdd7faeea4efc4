import { ParleyError } from './errors.ts';

/** @throws `invalid_parameter`, listing the known values, for any other value */
export function checkOneOf(param: string, value: string | undefined, known: readonly string[]): void {
  if (value === undefined || known.includes(value)) return;
  throw new ParleyError('invalid_parameter', {
    message: `\`${param}\` must be one of ${known.join(', ')}.`,
    param,
  });
}
