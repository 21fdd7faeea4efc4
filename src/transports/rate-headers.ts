/** Headers with the remaining limits of the current minute. */

import { minuteMs } from '../core/entities/rates.ts';
import { type Rate, tightest } from '../core/limits/call-limits.ts';

export type Headers = Readonly<Record<string, string>>;

export const noHeaders: Headers = {};
const units = ['requests', 'tokens'] as const;
const minuteSeconds = minuteMs / 1000;

/** All their names, for browsers. */
export const rateHeaderNames: readonly string[] = [
  ...units.flatMap((unit) => ['limit', 'remaining', 'reset'].map((what) => `x-ratelimit-${what}-${unit}`)),
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
  let [policies, lefts] = ['', ''];
  for (const rate of rates) {
    const { kind, unit, limit, left } = rate;
    const separator = policies === '' ? '' : ', ';
    const isTokens = unit === 'tokens';
    policies += `${separator}"${kind}-${unit}";q=${limit}${isTokens ? ';qu="tokens"' : ''};w=${minuteSeconds}`;
    lefts += `${separator}"${kind}-${unit}";r=${left};t=${seconds}`;
    if (tightest(rates, unit) === rate) {
      headers[`x-ratelimit-limit-${unit}`] = String(limit);
      headers[`x-ratelimit-remaining-${unit}`] = String(left);
      headers[`x-ratelimit-reset-${unit}`] = `${seconds}s`;
    }
  }
  headers['ratelimit-policy'] = policies;
  headers['ratelimit'] = lefts;
  return headers;
}
