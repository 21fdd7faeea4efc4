/** The errors of a key or an account that is over a limit. */

import { periodEndMs } from '../entities/count.ts';
import { minuteMs } from '../entities/rates.ts';
import type { LimitReached } from '../entities/reservation.ts';
import { ParleyError } from '../values/errors.ts';
import { formatCredits, nanoCredits } from '../values/money.ts';

/** The owner of a limit, as messages name it. */
export type OwnerKind = 'key' | 'account';

const names: Readonly<Record<OwnerKind, string>> = { key: 'This API key', account: 'The account' };

/** Running requests usually end soon. */
const concurrencyWaitMs = 1_000;

/** Moments that messages refer to. */
interface Times {
  /** The time that decides about day and month. */
  readonly startedAtMs: number;
  /** The time that decides about the minute. */
  readonly nowMs: number;
}

/** The error of a request that does not fit into a limit. */
export function limitError(reached: LimitReached, { startedAtMs, nowMs }: Times): ParleyError {
  const { unit, amount } = reached;
  const limit = Number(reached.limit);
  const name = nameOf(reached);
  const waitMs = minuteMs - (nowMs % minuteMs);
  switch (unit) {
    case 'balance':
      return new ParleyError('insufficient_credits', { reached });
    case 'credits':
      return budgetError(reached, startedAtMs);
    case 'fair_use':
      return fairUseError(reached, startedAtMs);
    case 'audio_seconds':
    case 'characters':
      return dayError(reached, startedAtMs);
    case 'end_users':
      return endUsersError(reached, startedAtMs);
    case 'requests':
      return refused(reached, `${name} may send ${plural(limit, 'request')} per minute.`, waitMs);
    case 'running': {
      const problem = `${name} may have ${plural(limit, 'request')} running at once.`;
      return refused(reached, problem, concurrencyWaitMs);
    }
    case 'tokens': {
      const problem = `${name} may use ${plural(limit, 'token')} per minute; ${leftOf(reached)} are left`;
      return refused(reached, `${problem}, and this request can need ${amount}.`, waitMs);
    }
  }
}

export function modelNotAllowed(kind: OwnerKind, model: string): ParleyError {
  return new ParleyError('insufficient_scope', {
    message: `The limits of ${kind === 'key' ? 'this API key' : 'the account'} do not allow the model \`${model}\`.`,
    advice: { kind: 'list_models' },
    param: 'model',
  });
}

export function addressNotAllowed(kind: OwnerKind): ParleyError {
  return new ParleyError('insufficient_scope', {
    message: `${names[kind]} is not allowed from this address.`,
  });
}

function budgetError(reached: LimitReached, startedAtMs: number): ParleyError {
  const { period = '', limit } = reached;
  const [all, free] = [limit, leftOf(reached)].map((amount) => formatCredits(nanoCredits(amount)));
  const endMs = periodEndMs(period, startedAtMs);
  const resets = endMs === undefined ? '' : ` It resets at ${timeText(endMs)}.`;
  return new ParleyError('budget_exceeded', {
    reached,
    message: `${nameOf(reached)} has a budget of ${all} credits ${budgetPeriod(period)}; ${free} are left, which do not cover this request.${resets}`,
  });
}

function budgetPeriod(period: string): string {
  if (period === 'all') return 'in total';
  return period.length === 'yyyy-mm'.length ? 'per month' : 'per day';
}

function fairUseError(reached: LimitReached, startedAtMs: number): ParleyError {
  const { period = '', amount, limit } = reached;
  const left = leftOf(reached);
  const problem = `This request needs ${amount} fair-use units, and ${left} of this month's ${limit} are left.`;
  const smaller = left === 0n ? '' : ' A smaller request, of at most the units that are left, still passes.';
  const resetsAtMs = periodEndMs(period, startedAtMs) ?? startedAtMs;
  return new ParleyError('fair_use_limit_reached', {
    reached,
    message: `${problem}${smaller} The limit resets at ${timeText(resetsAtMs)}.`,
  });
}

function dayError(reached: LimitReached, startedAtMs: number): ParleyError {
  const { unit, period = '', limit } = reached;
  const what = unit === 'characters' ? 'characters to speak' : 'seconds of audio to transcribe';
  const endMs = periodEndMs(period, startedAtMs) ?? startedAtMs;
  const message = `${nameOf(reached)} has ${limit} ${what} per day; ${leftOf(reached)} are left. It resets at ${timeText(endMs)}.`;
  return refused(reached, message, endMs - startedAtMs, '');
}

function endUsersError(reached: LimitReached, startedAtMs: number): ParleyError {
  const { period = '', limit } = reached;
  const endMs = periodEndMs(period, startedAtMs) ?? startedAtMs;
  const span = period.length === 'yyyy-mm'.length ? 'month' : 'day';
  const message = `${nameOf(reached)} has had its ${limit} end users of this ${span}. A new one is admitted from ${timeText(endMs)}.`;
  return refused(reached, message, endMs - startedAtMs, '');
}

function leftOf({ limit, taken }: LimitReached): bigint {
  return taken < limit ? limit - taken : 0n;
}

function nameOf({ owner }: LimitReached): string {
  if (owner.startsWith('usr_')) return 'This end user';
  return names[owner.startsWith('acc_') ? 'account' : 'key'];
}

function timeText(atMs: number): string {
  return new Date(atMs).toISOString();
}

function refused(reached: LimitReached, problem: string, waitMs: number, next?: string): ParleyError {
  const retryAfterSeconds = Math.max(1, Math.ceil(waitMs / 1000));
  const advice = next ?? ` Try again in ${plural(retryAfterSeconds, 'second')}.`;
  return new ParleyError('rate_limit_exceeded', {
    message: `${problem}${advice}`,
    retryAfterSeconds,
    reached,
  });
}

function plural(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`;
}
