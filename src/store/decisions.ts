/** The rules of credits and fair-use units, on numbers in memory. Every database decides by them. */
import { type NanoCredits, nanoCredits } from '../core/billing/money.ts';
import type { FairUseReservation } from '../core/ports/reservations.ts';

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

/** Raises a hold towards `wanted`, as far as the available credits reach. Returns the hold. */
export function raiseHold(funds: Funds, hold: bigint, wanted: bigint): bigint {
  if (wanted <= hold) return hold;
  const available = funds.balance - funds.held;
  let more = wanted - hold;
  if (more > available) more = available;
  funds.held += more;
  return hold + more;
}

/** Splits a cost into its debit and its overrun. @param hold raised as far as the available credits reach */
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
