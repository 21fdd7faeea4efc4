/** The rules of credits and fair-use units, on numbers in memory. Every database decides by them. */

import type { FairUseReservation } from '../core/entities/reservation.ts';
import { type NanoCredits, nanoCredits } from '../core/values/money.ts';

/** The credits of an account: its balance, and what running requests hold of it. */
export interface Funds {
  balance: bigint;
  held: bigint;
}

/** A monthly counter of fair-use units. */
export interface Units {
  used: number;
  reserved: number;
}

/** Holds an amount. False, and no change, if the balance less the holds does not cover it. */
export function holdCredits(funds: Funds, amount: bigint): boolean {
  if (funds.balance - funds.held < amount) return false;
  funds.held += amount;
  return true;
}

/** A count of credits, and the budget that bounds it. */
export interface Budget {
  readonly count: { readonly used: bigint; reserved: bigint };
  readonly limit: bigint;
}

/** Raises a hold and its budgets by `wanted`, as far as the available credits and every budget reach. Returns the rise. */
export function raiseHold(funds: Funds, budgets: readonly Budget[], wanted: bigint): bigint {
  let rise = wanted;
  const left = budgets.map(({ count, limit }) => limit - count.used - count.reserved);
  for (const room of [funds.balance - funds.held, ...left]) if (room < rise) rise = room;
  if (rise <= 0n) return 0n;
  lowerHold(funds, budgets, -rise);
  return rise;
}

/** Takes a rise back. */
export function lowerHold(funds: Funds, budgets: readonly Budget[], rise: bigint): void {
  funds.held -= rise;
  for (const { count } of budgets) count.reserved -= rise;
}

/** Splits a cost into its debit and its overrun. @param hold raised as far as credits and budgets reach */
export function charge(
  hold: bigint,
  cost: NanoCredits | undefined,
): { readonly cost: NanoCredits | undefined; readonly overrun: NanoCredits | undefined } {
  if (cost === undefined || cost <= hold) return { cost, overrun: undefined };
  return { cost: nanoCredits(hold), overrun: nanoCredits(cost - hold) };
}

/** Raises a reservation from `before` units. False, and no change, if the month's units would exceed the limit. */
export function reserveUnits(known: Units, { units, limitUnits }: FairUseReservation, before = 0): boolean {
  if (known.used + known.reserved + units - before > limitUnits) return false;
  known.reserved += units - before;
  return true;
}
