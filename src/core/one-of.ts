import { ParleyError } from './errors.ts';

/** @throws `invalid_parameter`, which names those that are known, where another value than one of them was sent */
export function checkOneOf(param: string, value: string | undefined, known: readonly string[]): void {
  if (value === undefined || known.includes(value)) return;
  throw new ParleyError('invalid_parameter', {
    message: `\`${param}\` must be one of ${known.join(', ')}.`,
    param,
  });
}
