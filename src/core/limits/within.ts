/** Whether a key may do no more than another one. */

import { budgetNames, type Limits, rateNames } from '../entities/limits.ts';
import { coversNetwork } from '../values/addresses.ts';
import type { NanoCredits } from '../values/money.ts';
import { coversPattern } from './models.ts';

/** The first member of `inner` that allows more than `outer`, as a path; undefined if none does. */
export function widerMember(inner: Limits = {}, outer: Limits = {}): string | undefined {
  if (!isCovered(inner.models, outer.models, coversPattern)) return 'models';
  if (!isCovered(inner.addresses, outer.addresses, coversNetwork)) return 'addresses';
  const rate = rateNames.find((name) => isMore(inner[name], outer[name]));
  if (rate !== undefined) return rate;
  const budget = budgetNames.find((name) => isMore(inner.budgets?.[name], outer.budgets?.[name]));
  return budget && `budgets.${budget}`;
}

/** The requested limits, or those of the issuing key by default. */
export function inheritedLimits(wanted: Limits, own: Limits = {}): Limits {
  return { ...own, ...wanted, budgets: { ...own.budgets, ...wanted.budgets } };
}

function isCovered(
  inner: readonly string[] | undefined,
  outer: readonly string[] | undefined,
  covers: (outer: readonly string[], inner: string) => boolean,
): boolean {
  if (outer === undefined) return true;
  return inner?.every((entry) => covers(outer, entry)) ?? false;
}

function isMore(inner: number | NanoCredits | undefined, outer: number | NanoCredits | undefined): boolean {
  return outer !== undefined && (inner === undefined || inner > outer);
}
