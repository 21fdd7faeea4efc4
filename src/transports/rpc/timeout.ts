/** The deadline that a client sends with a call. */
import { ParleyError } from '../../core/values/errors.ts';
import type { RequestHead } from '../request-head.ts';

const unitMs: Readonly<Record<string, number>> = {
  H: 3_600_000,
  M: 60_000,
  S: 1_000,
  m: 1,
  u: 1e-3,
  n: 1e-6,
};
/** The longest time that gRPC can write in milliseconds. Parley's own limit ends every call long before. */
const timeoutMsMax = 99_999_999;

const forms = {
  'grpc-timeout': {
    pattern: /^(\d{1,8})([HMSmun])$/,
    expected: 'up to 8 digits and a unit (H, M, S, m, u or n), such as `30S`',
    longest: `${timeoutMsMax}m`,
  },
  'connect-timeout-ms': {
    pattern: /^(\d{1,10})$/,
    expected: 'up to 10 digits',
    longest: String(timeoutMsMax),
  },
} as const;

/** A header: its name and its value. */
export type Timeout = readonly [name: string, value: string];

/**
 * The header of the deadline, cut to the longest timers of grpc-js and connect-node. Undefined for a call without a
 * deadline.
 * @throws `invalid_request_error` for a value that the protocol does not have, `request_cancelled` for a deadline that
 * has passed
 */
export function readTimeout({ wire, header }: RequestHead): Timeout | undefined {
  const name = wire === 'connect' ? 'connect-timeout-ms' : 'grpc-timeout';
  const { pattern, expected, longest } = forms[name];
  const value = header(name);
  if (value === undefined) return undefined;
  const [, digits, unit = 'm'] = pattern.exec(value) ?? [];
  if (digits === undefined) {
    throw new ParleyError('invalid_request_error', {
      message: `The header \`${name}\` must be ${expected}.`,
    });
  }
  if (Number(digits) === 0) {
    throw new ParleyError('request_cancelled', {
      message: 'The deadline of the call has passed.',
      grpcCode: 'DEADLINE_EXCEEDED',
    });
  }
  return [name, Number(digits) * (unitMs[unit] ?? 1) > timeoutMsMax ? longest : value];
}
