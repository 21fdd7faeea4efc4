/** Headers with the remaining limits of the current minute. */

import { minuteMs } from '../core/entities/rates.ts';
import { type Rate, tightest } from '../core/limits/call-limits.ts';

export type Headers = Readonly<Record<string, string>>;

export const noHeaders: Headers = {};
const units = ['requests', 'tokens'] as const;
const minuteSeconds = minuteMs / 1000;

const namesOf = (unit: string) => ({
  limit: `x-ratelimit-limit-${unit}`,
  remaining: `x-ratelimit-remaining-${unit}`,
  reset: `x-ratelimit-reset-${unit}`,
});
const names = { requests: namesOf('requests'), tokens: namesOf('tokens') };

export const rateHeaderNames: readonly string[] = [
  ...units.flatMap((unit) => Object.values(names[unit])),
  'ratelimit-policy',
  'ratelimit',
];

/**
 * `x-ratelimit-*` as OpenAI's SDKs read them, for whichever of key and account has less left, and the IETF's
 * `RateLimit-Policy` and `RateLimit`, for both. None without limits.
 */
export function rateHeaders(rates: readonly Rate[]): Headers {
  const [first] = rates;
  if (first === undefined) return noHeaders;
  const seconds = Math.ceil(first.resetMs / 1000);
  const headers: Record<string, string> = {};
  const least = { requests: tightest(rates, 'requests'), tokens: tightest(rates, 'tokens') };
  let [policies, lefts] = ['', ''];
  for (const rate of rates) {
    const { kind, unit, limit, left } = rate;
    const separator = policies === '' ? '' : ', ';
    policies += `${separator}"${kind}-${unit}";q=${limit}${unit === 'tokens' ? ';qu="tokens"' : ''};w=${minuteSeconds}`;
    lefts += `${separator}"${kind}-${unit}";r=${left};t=${seconds}`;
    if (least[unit] !== rate) continue;
    headers[names[unit].limit] = String(limit);
    headers[names[unit].remaining] = String(left);
    headers[names[unit].reset] = `${seconds}s`;
  }
  headers['ratelimit-policy'] = policies;
  headers['ratelimit'] = lefts;
  return headers;
}
