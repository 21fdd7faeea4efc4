/** The errors of a key or an account that is over a limit. */

import { type CountedAmount, periodEndMs } from '../entities/count.ts';
import { ParleyError } from '../values/errors.ts';
import { formatCredits, nanoCredits } from '../values/money.ts';

/** The owner of a limit, as messages name it. */
export type OwnerKind = 'key' | 'account';

const names: Readonly<Record<OwnerKind, string>> = { key: 'This API key', account: 'The account' };

interface RateRefusal {
  readonly kind: OwnerKind;
  readonly limit: number;
  /** Time until the next minute. */
  readonly waitMs: number;
}

export function tooManyRequests({ kind, limit, waitMs }: RateRefusal): ParleyError {
  return refused(`${names[kind]} may send ${plural(limit, 'request')} a minute.`, waitMs);
}

export function tooManyTokens(
  { kind, limit, waitMs }: RateRefusal,
  needed: number,
  left: number,
): ParleyError {
  const allowed = `${names[kind]} may use ${plural(limit, 'token')} a minute`;
  return refused(`${allowed}; ${left} are left, and this request can need ${needed}.`, waitMs);
}

/** A running request ends soon, mostly. */
const concurrencyWaitMs = 1_000;

export function tooManyAtOnce(kind: OwnerKind, limit: number): ParleyError {
  return refused(`${names[kind]} may have ${plural(limit, 'request')} running at once.`, concurrencyWaitMs);
}

export function modelNotAllowed(kind: OwnerKind, model: string): ParleyError {
  return new ParleyError('insufficient_scope', {
    message: `${names[kind]} is not allowed the model \`${model}\`.`,
    advice: { kind: 'list_models' },
    param: 'model',
  });
}

export function addressNotAllowed(kind: OwnerKind): ParleyError {
  return new ParleyError('insufficient_scope', {
    message: `${names[kind]} is not allowed from this address.`,
  });
}

interface CountRefusal {
  readonly kind: OwnerKind;
  /** The count that is over its limit. */
  readonly counted: CountedAmount;
  /** Used and reserved by other requests. */
  readonly taken: bigint;
  readonly nowMs: number;
}

export function countExceeded({ kind, counted, taken, nowMs }: CountRefusal): ParleyError {
  const { unit, period, limit } = counted;
  const left = taken < limit ? limit - taken : 0n;
  const endMs = periodEndMs(period, nowMs);
  const resets = endMs === undefined ? '' : ` It resets at ${new Date(endMs).toISOString()}.`;
  if (unit === 'credits') {
    const [all, free] = [limit, left].map((amount) => formatCredits(nanoCredits(amount)));
    return new ParleyError('budget_exceeded', {
      message: `${names[kind]} has a budget of ${all} credits ${budgetPeriod(period)}; ${free} are left, which do not cover this request.${resets}`,
    });
  }
  const what = unit === 'characters' ? 'characters to speak' : 'seconds of audio to transcribe';
  const message = `${names[kind]} has ${limit} ${what} a day; ${left} are left.${resets}`;
  return refused(message, endMs === undefined ? 0 : endMs - nowMs, '');
}

function budgetPeriod(period: string): string {
  if (period === 'all') return 'in all';
  return period.length === 'yyyy-mm'.length ? 'a month' : 'a day';
}

function refused(problem: string, waitMs: number, next?: string): ParleyError {
  const retryAfterSeconds = Math.max(1, Math.ceil(waitMs / 1000));
  const advice = next ?? ` Try again in ${plural(retryAfterSeconds, 'second')}.`;
  return new ParleyError('rate_limit_exceeded', { message: `${problem}${advice}`, retryAfterSeconds });
}

function plural(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`;
}
