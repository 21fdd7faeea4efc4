/** Amounts that a key or an account uses in a day, a month or in all. They survive a restart. Times are UTC. */
import { nextMonthMs } from '../values/month.ts';
import { budgetNames, type Limits } from './limits.ts';
import type { RecordEnd } from './usage.ts';

const dayMs = 24 * 60 * 60 * 1000;

export const countedUnits = ['credits', 'audio_seconds', 'characters'] as const;
/** Credits are counted in nano-credits. */
export type CountedUnit = (typeof countedUnits)[number];

/** A unit that is counted for an owner in a period. */
export interface Count {
  /** The id of an account, or that of a key before its first rotation. */
  readonly owner: string;
  readonly unit: CountedUnit;
  /** A day such as `2026-11-22`, a month such as `2026-11`, or `all`. */
  readonly period: string;
}

/** An amount that a request reserves, and the limit of the amounts used and reserved together. */
export interface CountedAmount extends Count {
  readonly amount: bigint;
  readonly limit: bigint;
}

/** The state of a count. */
export interface Taken {
  readonly used: bigint;
  readonly reserved: bigint;
}

/** The one rule: what is used and reserved stays within the limit. */
export function fits({ used, reserved }: Taken, more: bigint, limit: bigint): boolean {
  return used + reserved + more <= limit;
}

/** The part of a reserved amount that an ended request has used. A failed one uses nothing. @param end as it was recorded */
export function usedOf({ unit, amount }: CountedAmount, end: RecordEnd): bigint {
  if (unit === 'credits') return end.cost ?? 0n;
  const { state, firstOutputMs } = end;
  const isCut = (state === 'cancelled' || state === 'refused') && firstOutputMs !== undefined;
  return state === 'ok' || isCut ? amount : 0n;
}

/** The amounts of a request by what they count. */
export type Amounts = Readonly<Partial<Record<CountedUnit, bigint>>>;

/** The counts of a request for one owner. */
export function countedAmounts(
  owner: string,
  limits: Limits,
  amounts: Amounts,
  startedAtMs: number,
): CountedAmount[] {
  const { credits = 0n, audio_seconds: seconds, characters } = amounts;
  const counted: CountedAmount[] = [];
  const add = (unit: CountedUnit, period: string, amount: bigint, limit: number | bigint | undefined) => {
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

export function periodOf(name: (typeof budgetNames)[number], atMs: number): string {
  if (name === 'total') return 'all';
  return name === 'day' ? dayOf(atMs) : dayOf(atMs).slice(0, 'yyyy-mm'.length);
}

/** When a period of this moment ends; undefined for one that never does. */
export function periodEndMs(period: string, atMs: number): number | undefined {
  if (period === 'all') return undefined;
  return period === dayOf(atMs) ? nextDayMs(atMs) : nextMonthMs(atMs);
}

/** The latest day: most requests are of the same one. */
let latest = { number: 0, day: '1970-01-01' };

/** A UTC day, such as `2026-11-22`. */
function dayOf(atMs: number): string {
  const number = Math.floor(atMs / dayMs);
  if (number !== latest.number) latest = { number, day: new Date(atMs).toISOString().slice(0, 10) };
  return latest.day;
}

function nextDayMs(atMs: number): number {
  return (Math.floor(atMs / dayMs) + 1) * dayMs;
}
