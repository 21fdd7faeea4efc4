/** Reserves for a request before it runs, and more while it runs. */
import { type CountedAmount, isSameCount } from '../entities/count.ts';
import type { LimitReached, Refusal, Reservation } from '../entities/reservation.ts';
import type { AccountId } from '../values/ids.ts';
import { type Books, type HeldAmounts, none } from './books.ts';
import { fitRates, takeRates } from './rates.ts';

type Condition = (books: Books, accountId: AccountId, wanted: Reservation) => Refusal | undefined;

/** The order of refusals. */
const conditions: readonly Condition[] = [
  keepPolicy,
  fitCounts(true),
  coverHold,
  fitCounts(false),
  (books, _, { rates }) => rates && fitRates(books, rates),
];

/** Reserves all wanted amounts, or none. */
export function reserve(books: Books, accountId: AccountId, all: Reservation): HeldAmounts | Refusal {
  const isCounted = ({ firstOf }: CountedAmount) => firstOf === undefined || books.isNew(firstOf);
  const wanted =
    all.counted?.every(isCounted) === false ? { ...all, counted: all.counted.filter(isCounted) } : all;
  for (const condition of conditions) {
    const refusal = condition(books, accountId, wanted);
    if (refusal) return refusal;
  }
  const { hold, counted = none, rates } = wanted;
  if (hold) books.funds(accountId).held += hold.amount;
  for (const one of counted) books.count(one).reserved += one.amount;
  const rateUses = rates ? takeRates(books, rates) : none;
  return { accountId, hold: hold?.amount, counted, rateUses };
}

export function isRefusal(outcome: HeldAmounts | Refusal): outcome is Refusal {
  return 'kind' in outcome;
}

/**
 * Raises or lowers counted amounts of a running request to the wanted ones, all or none. Lower ones always fit.
 * @param wanted amounts of reserved counts; other counts stay unchanged
 */
export function extend(
  books: Books,
  reserved: HeldAmounts,
  wanted: readonly CountedAmount[],
): HeldAmounts | LimitReached {
  const counted: CountedAmount[] = [];
  for (const before of reserved.counted) {
    const after = wanted.find((one) => isSameCount(one, before)) ?? before;
    const excess = after.amount > before.amount ? excessOf(books, after, before.amount) : undefined;
    if (excess) return excess;
    counted.push(after);
  }
  for (const [at, { amount }] of reserved.counted.entries()) {
    const after = counted[at];
    if (after) books.count(after).reserved += after.amount - amount;
  }
  return { ...reserved, counted };
}

function keepPolicy(books: Books, accountId: AccountId, { policyVersion }: Reservation): Refusal | undefined {
  const isKept = policyVersion === undefined || policyVersion === books.funds(accountId).policyVersion;
  return isKept ? undefined : { kind: 'policy_changed' };
}

function coverHold(books: Books, accountId: AccountId, { hold }: Reservation): Refusal | undefined {
  if (hold === undefined) return undefined;
  const { balance, held } = books.funds(accountId);
  if (balance - held >= hold.amount) return undefined;
  const { amount } = hold;
  return { kind: 'limit_reached', owner: accountId, unit: 'balance', amount, limit: balance, taken: held };
}

/** Every count of fair use, or every other count. */
function fitCounts(isFairUse: boolean): Condition {
  return (books, _, { counted = none }) => {
    for (const one of counted) {
      const excess = (one.unit === 'fair_use') === isFairUse ? excessOf(books, one) : undefined;
      if (excess) return excess;
    }
    return undefined;
  };
}

/**
 * Used and reserved amounts stay within the limit.
 * @param own the amount that the request has already reserved
 */
function excessOf(books: Books, counted: CountedAmount, own = 0n): LimitReached | undefined {
  const { owner, unit, period, amount, limit } = counted;
  const { used, reserved } = books.count(counted);
  const taken = used + reserved - own;
  if (taken + amount <= limit) return undefined;
  return { kind: 'limit_reached', owner, unit, period, amount, limit, taken };
}
