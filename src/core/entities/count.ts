/** Amounts that a key or an account uses per day, per month or in total. They survive a restart. Times are UTC. */
import { budgetNames, type Limits } from './limits.ts';

const dayMs = 24 * 60 * 60 * 1000;

/** Credits are counted in nano-credits. */
export type CountedUnit = LimitedUnit | 'fair_use' | 'end_users';
type LimitedUnit = 'credits' | 'audio_seconds' | 'characters';

/** A unit that is counted for an owner in a period. */
export interface Count {
  /** Id of an account, or of a key before its first rotation. */
  readonly owner: string;
  readonly unit: CountedUnit;
  /** A day such as `2026-11-22`, a month such as `2026-11`, or `all`. */
  readonly period: string;
}

/** An amount that a request reserves, and the limit on used and reserved amounts together. */
export interface CountedAmount extends Count {
  readonly amount: bigint;
  readonly limit: bigint;
  /** Set for `end_users`: it counts only at the first request of this end user in the period. */
  readonly firstOf?: Count | undefined;
}

export function isSameCount(one: Count, other: Count): boolean {
  return one.owner === other.owner && one.unit === other.unit && one.period === other.period;
}

export type UnitAmounts = Readonly<Partial<Record<LimitedUnit, bigint>>>;

/** The counts of a request for one owner. */
export function countedAmounts(
  owner: string,
  limits: Limits,
  amounts: UnitAmounts,
  startedAtMs: number,
): CountedAmount[] {
  const { credits = 0n, audio_seconds: seconds, characters } = amounts;
  const counted: CountedAmount[] = [];
  const add = (unit: LimitedUnit, period: string, amount: bigint, limit: number | bigint | undefined) => {
    if (limit !== undefined) counted.push({ owner, unit, period, amount, limit: BigInt(limit) });
  };
  if (credits > 0n) {
    for (const name of budgetNames) {
      add('credits', periodOf(name, startedAtMs), credits, limits.budgets?.[name]);
    }
  }
  if (seconds !== undefined) add('audio_seconds', dayOf(startedAtMs), seconds, limits.audioSecondsPerDay);
  if (characters !== undefined) add('characters', dayOf(startedAtMs), characters, limits.charactersPerDay);
  return counted;
}

/** The fair use of an account in the month of a moment. */
export function fairUseCount(owner: string, atMs: number): Count {
  return { owner, unit: 'fair_use', period: periodOf('month', atMs) };
}

export function periodOf(name: (typeof budgetNames)[number], atMs: number): string {
  if (name === 'total') return 'all';
  return name === 'day' ? dayOf(atMs) : monthOf(atMs);
}

/** When the period of this moment ends; undefined for one that never ends. */
export function periodEndMs(period: string, atMs: number): number | undefined {
  if (period === 'all') return undefined;
  return period === dayOf(atMs) ? nextDayMs(atMs) : nextMonthMs(atMs);
}

/** The latest day, cached because most requests fall on the same one. */
let latest = { number: 0, day: '1970-01-01', month: '1970-01' };

const dayOf = (atMs: number) => textsOf(atMs).day;
const monthOf = (atMs: number) => textsOf(atMs).month;

function textsOf(atMs: number): typeof latest {
  const number = Math.floor(atMs / dayMs);
  if (number !== latest.number) {
    const day = new Date(atMs).toISOString().slice(0, 'yyyy-mm-dd'.length);
    latest = { number, day, month: day.slice(0, 'yyyy-mm'.length) };
  }
  return latest;
}

function nextDayMs(atMs: number): number {
  return (Math.floor(atMs / dayMs) + 1) * dayMs;
}

/** The first moment of the next month (UTC). */
export function nextMonthMs(nowMs: number): number {
  const date = new Date(nowMs);
  return Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + 1, 1);
}
