/** Decides which alerts are due for an account, by its usage and the end of its trial or plan. */

import { type FairUseRules, unitsPerMonth } from '../billing/fair-use.ts';
import { entitlementAt, type Period } from '../entities/account.ts';
import type { AlertDetails, AlertMark, WatchedAccount, WatchMoment } from '../entities/alert.ts';
import { nextMonthMs, periodEndMs, periodOf } from '../entities/count.ts';
import { budgetNames, type Limits } from '../entities/limits.ts';
import { present } from '../values/json.ts';
import { formatCredits, nanoCredits } from '../values/money.ts';

/** How long before the end of a trial or plan its alert is raised, and how long after it the alert is still useful. */
const noticeMs = 3 * 86_400_000;

export interface Moment extends WatchMoment {
  readonly fairUse: FairUseRules;
}

/** A reached threshold. An alert is due unless the mark is already there. */
interface Reached {
  readonly mark: AlertMark;
  readonly details: AlertDetails;
}

/** An alert to raise, with the advance of its mark. */
export interface Due extends Reached {
  /** The previous mark; undefined if there was none. */
  readonly read: AlertMark | undefined;
}

export function dueAlerts(watched: WatchedAccount, moment: Moment): readonly Due[] {
  const { trial, plan } = watched.account.subscription;
  const due = [
    ...dueBudgets(watched, moment),
    ...dueFairUse(watched, moment),
    ...dueBalance(watched),
    ...dueEnd('trial', trial, plan, moment.accessNowMs),
    ...dueEnd('plan', plan, trial, moment.accessNowMs),
  ];
  const nameOf = ({ kind, subject }: AlertMark) => `${kind} ${subject}`;
  const marks = new Map(watched.marks.map((mark) => [nameOf(mark), mark]));
  return due.flatMap(({ mark, details }) => {
    const read = marks.get(nameOf(mark));
    return movesOn(read, mark) ? { mark, read, details } : [];
  });
}

function dueBudgets({ account, keys, settings, usedCredits }: WatchedAccount, { nowMs }: Moment): Reached[] {
  // A rotation with an overlap leaves several keys of one origin. The last one stays.
  const owners = new Map<string, { readonly limits?: Limits | undefined; readonly keyId?: string }>();
  owners.set(account.id, account);
  for (const { id: keyId, originId, limits } of keys) owners.set(originId, { limits, keyId });
  return [...owners].flatMap(([owner, { limits, keyId }]) =>
    budgetNames.flatMap((name) => {
      const limit = limits?.budgets?.[name] ?? 0n;
      const period = periodOf(name, nowMs);
      const used = usedCredits(owner, period);
      const percent = highestPercent(settings.percents, used, limit);
      if (percent === undefined) return [];
      const limitName = `budgets.${name}`;
      const resetsAtMs = periodEndMs(period, nowMs);
      return reached(
        {
          kind: 'budget.used',
          subject: `${owner} ${limitName}`,
          period,
          basis: String(limit),
          threshold: percent,
        },
        { ...present({ keyId, resetsAtMs }), percent, limitName, used: credits(used), limit: credits(limit) },
      );
    }),
  );
}

function dueFairUse(
  { account, settings, unitsUsed }: WatchedAccount,
  { nowMs, accessNowMs, fairUse }: Moment,
): Reached[] {
  const limit = unitsPerMonth(fairUse, entitlementAt(account.subscription, accessNowMs));
  const percent = highestPercent(settings.percents, unitsUsed, BigInt(limit));
  if (percent === undefined) return [];
  // Without a basis, as nodes may differ in the allowance, during a reload or at the end of a trial.
  return reached(
    { kind: 'fair_use.used', period: periodOf('month', nowMs), threshold: percent },
    { percent, used: String(unitsUsed), limit: String(limit), resetsAtMs: nextMonthMs(nowMs) },
  );
}

/** Each load allows the alert again. */
function dueBalance({ account, settings: { balanceBelow }, latestLoad }: WatchedAccount): Reached[] {
  if (balanceBelow === undefined || account.balance >= balanceBelow) return [];
  return reached(
    { kind: 'credits.low', period: latestLoad, basis: String(balanceBelow) },
    { balance: formatCredits(account.balance), balanceBelow: formatCredits(balanceBelow) },
  );
}

/** Skips an end if another subscription lasts longer, and an end long ago. */
function dueEnd(
  name: 'trial' | 'plan',
  period: Period | undefined,
  other: Period | undefined,
  nowMs: number,
): Reached[] {
  if (period === undefined) return [];
  const { endsAtMs } = period;
  if (nowMs < endsAtMs - noticeMs || nowMs >= endsAtMs + noticeMs) return [];
  if (other !== undefined && other.startsAtMs <= endsAtMs && other.endsAtMs > endsAtMs) return [];
  const kind = nowMs < endsAtMs ? (`${name}.ending` as const) : (`${name}.ended` as const);
  return reached({ kind, basis: String(endsAtMs) }, { endsAtMs });
}

function reached(mark: Partial<AlertMark> & Pick<AlertMark, 'kind'>, details: AlertDetails): Reached[] {
  return [{ mark: { subject: '', period: '', basis: '', threshold: 0, ...mark }, details }];
}

/** The highest percent of the limit that is reached; undefined if none is. */
function highestPercent(percents: readonly number[], used: bigint, limit: bigint): number | undefined {
  if (limit === 0n) return undefined;
  return percents.findLast((percent) => used * 100n >= limit * BigInt(percent));
}

/** The same rule as in the database, where it is enforced. */
function movesOn(before: AlertMark | undefined, mark: AlertMark): boolean {
  if (before === undefined || mark.period > before.period) return true;
  if (mark.period < before.period) return false;
  return mark.basis !== before.basis || mark.threshold > before.threshold;
}

function credits(amount: bigint): string {
  return formatCredits(nanoCredits(amount));
}
