/** Headers that tell clients what is left of the running minute. */
import { type Rate, tightest } from '../core/limits/call-limits.ts';
import { minuteMs } from '../core/limits/rates.ts';

export type Headers = Readonly<Record<string, string>>;

export const noHeaders: Headers = {};
const units = ['requests', 'tokens'] as const;
const minuteSeconds = minuteMs / 1000;

/** The names of all of them, for browsers. */
export const rateHeaderNames: readonly string[] = [
  ...units.flatMap((unit) => ['limit', 'remaining', 'reset'].map((what) => `x-ratelimit-${what}-${unit}`)),
  'ratelimit-policy',
  'ratelimit',
];

/**
 * `x-ratelimit-*` as SDKs of OpenAI read them, for whichever of key and account has less left, and the fields `RateLimit-Policy` and
 * `RateLimit` of the IETF, for both. None without limits.
 */
export function rateHeaders(rates: readonly Rate[]): Headers {
  if (rates.length === 0) return noHeaders;
  const headers: Record<string, string> = {};
  for (const unit of units) {
    const rate = tightest(rates, unit);
    if (rate === undefined) continue;
    headers[`x-ratelimit-limit-${unit}`] = String(rate.limit);
    headers[`x-ratelimit-remaining-${unit}`] = String(rate.left);
    headers[`x-ratelimit-reset-${unit}`] = `${seconds(rate)}s`;
  }
  headers['ratelimit-policy'] = rates.map(policy).join(', ');
  headers['ratelimit'] = rates.map((rate) => `${name(rate)};r=${rate.left};t=${seconds(rate)}`).join(', ');
  return headers;
}

function policy(rate: Rate): string {
  const unit = rate.unit === 'tokens' ? ';qu="tokens"' : '';
  return `${name(rate)};q=${rate.limit}${unit};w=${minuteSeconds}`;
}

function name({ kind, unit }: Rate): string {
  return `"${kind}-${unit}"`;
}

function seconds({ resetMs }: Rate): number {
  return Math.ceil(resetMs / 1000);
}
