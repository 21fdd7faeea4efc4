/** The limits of one request: those of its key and those of its account. */

import { type Amounts, type CountedAmount, countedAmounts } from '../entities/count.ts';
import type { Limited, Limits } from '../entities/limits.ts';
import { minuteMs, type Rates } from '../entities/rates.ts';
import { type RatedOwner, type RateExcess, SharedRates } from '../entities/shared-rates.ts';
import type { Operation } from '../entities/usage.ts';
import { isWithinAddresses } from '../values/addresses.ts';
import type { Clock } from '../values/clock.ts';
import { ParleyError } from '../values/errors.ts';
import { type NanoCredits, nanoCredits } from '../values/money.ts';
import type { Affordable } from './affordable.ts';
import { matchesModel } from './models.ts';
import {
  addressNotAllowed,
  countExceeded,
  modelNotAllowed,
  type OwnerKind,
  tooManyAtOnce,
  tooManyRequests,
  tooManyTokens,
} from './refusals.ts';

interface Owner extends RatedOwner {
  readonly kind: OwnerKind;
}

/** The limit of a minute, and what is left of it. */
export interface Rate {
  readonly kind: OwnerKind;
  readonly unit: 'requests' | 'tokens';
  readonly limit: number;
  readonly left: number;
  /** Time until the next minute. */
  readonly resetMs: number;
}

const rateNames = ['requestsPerMinute', 'tokensPerMinute', 'concurrentRequests'] as const;

/** Operations whose requests have rates. Others are for looking around, and stay open when a rate is used up. */
const ratedOperations: ReadonlySet<Operation> = new Set<Operation>(['speech', 'transcription', 'chat']);

export interface LimitsDeps {
  readonly rates: Rates;
  /** Does not go back, or the minute of a meter would begin again. */
  readonly clock: Clock;
}

/** Finds the limits of a request; undefined if neither key nor account has any. */
export function callLimits(
  { rates, clock }: LimitsDeps,
  key: Limited & { readonly originId: string },
  account: Limited & { readonly id: string },
): CallLimits | undefined {
  if (key.limits === undefined && account.limits === undefined) return undefined;
  const owners: Owner[] = [];
  const add = (kind: OwnerKind, id: string, limits: Limits | undefined) => {
    if (limits) owners.push({ kind, id, limits, meter: rates.meterOf(id) });
  };
  add('key', key.originId, key.limits);
  add('account', account.id, account.limits);
  return new CallLimits(owners, clock);
}

export class CallLimits {
  readonly #owners: readonly Owner[];
  readonly #clock: Clock;
  #runs = false;
  #tokens = 0;
  /** The last attempt to take the rates of all servers. */
  #shared: SharedRates | undefined;
  /** The minute in which the tokens are reserved. */
  #minute = 0;

  constructor(owners: readonly Owner[], clock: Clock) {
    this.#owners = owners;
    this.#clock = clock;
  }

  /** @throws `insufficient_scope` */
  checkAddress(address: string): void {
    for (const { kind, limits } of this.#owners) {
      if (limits.addresses && !isWithinAddresses(limits.addresses, address)) throw addressNotAllowed(kind);
    }
  }

  /** Counts the request, all or nothing. @throws `rate_limit_exceeded` */
  begin(operation: Operation): void {
    if (!ratedOperations.has(operation)) return;
    const waitMs = this.#moveOn();
    for (const { kind, limits, meter } of this.#owners) {
      const unit = meter.excess(limits);
      if (unit) throw requestRefusal(unit, { kind, limits, waitMs });
    }
    this.#runs = true;
    for (const { meter } of this.#owners) {
      meter.requests++;
      meter.running++;
    }
  }

  allowsModel(model: string): boolean {
    return this.#owners.every(
      ({ limits }) => limits.models === undefined || matchesModel(limits.models, model),
    );
  }

  /** @throws `insufficient_scope` */
  checkModel(model: string): void {
    for (const { kind, limits } of this.#owners) {
      if (limits.models && !matchesModel(limits.models, model)) throw modelNotAllowed(kind, model);
    }
  }

  /** Reserves tokens of the running minute. False, and no change, if a limit does not cover them. Called once. */
  reserveTokens(tokens: number): boolean {
    this.#moveOn();
    if (!this.#owners.every(({ limits, meter }) => meter.hasTokens(tokens, limits))) return false;
    for (const { meter } of this.#owners) {
      meter.tokens += tokens;
      this.#minute = meter.minute;
    }
    this.#tokens = tokens;
    return true;
  }

  /** For servers that share a database; undefined without rates. @param tokens the most that a chat can use */
  shared(tokens = 0): SharedRates | undefined {
    const rated = this.#owners.filter(({ limits }) => rateNames.some((name) => limits[name] !== undefined));
    this.#shared = rated.length > 0 ? new SharedRates(rated, tokens) : undefined;
    return this.#shared;
  }

  /** The error of a request that other servers leave no room for; undefined if a smaller one may fit. */
  sharedRefusal({ owner, unit }: RateExcess): ParleyError | undefined {
    if (unit === 'tokens') return undefined;
    const { limits, id } = owner;
    return requestRefusal(unit, { kind: this.#kindOf(id), limits, waitMs: this.#moveOn() });
  }

  /** @param startedAtMs decides about day and month */
  countedAmounts(amounts: Amounts, startedAtMs: number): readonly CountedAmount[] {
    return this.#owners.flatMap(({ id, limits }) => countedAmounts(id, limits, amounts, startedAtMs));
  }

  /** @param taken used and reserved amounts, one for each counted amount */
  countRefusal(
    counted: readonly CountedAmount[],
    taken: readonly bigint[],
    nowMs: number,
  ): ParleyError | undefined {
    const index = counted.findIndex(({ amount, limit }, at) => (taken[at] ?? 0n) + amount > limit);
    const exceeded = counted[index];
    if (exceeded === undefined) return undefined;
    const kind = this.#kindOf(exceeded.owner);
    return countExceeded({ kind, counted: exceeded, taken: taken[index] ?? 0n, nowMs });
  }

  /** @param taken used and reserved amounts, one for each of `counted`, which are budgets */
  affordable(
    available: NanoCredits,
    counted: readonly CountedAmount[],
    taken: readonly bigint[],
    nowMs: number,
  ): Affordable {
    const budgets = counted.map((budget, at) => {
      const used = taken[at] ?? 0n;
      return { counted: budget, taken: used, left: used < budget.limit ? budget.limit - used : 0n };
    });
    const budget = leastLeft(budgets);
    const isBudgetLess = budget !== undefined && budget.left < available;
    const tokens = tightest(this.#rates(this.#shared?.hasTold === true), 'tokens');
    return {
      credits: isBudgetLess ? nanoCredits(budget.left) : available,
      creditsBy: isBudgetLess ? 'limit_reached' : 'insufficient_credits',
      ...(tokens && { tokens }),
      refuse: (by, needed) => {
        if (by === 'rate_reached' && tokens) return this.#tokensRefusal(tokens, needed);
        if (by !== 'limit_reached' || !budget) return new ParleyError('insufficient_credits');
        return countExceeded({ kind: this.#kindOf(budget.counted.owner), ...budget, nowMs });
      },
    };
  }

  /** The reserved tokens become those that are used, unless their minute is over. */
  useTokens(used: number): void {
    const more = used - this.#tokens;
    this.#tokens = used;
    for (const { meter } of this.#owners) if (meter.minute === this.#minute) meter.tokens += more;
  }

  /** Ends the request. */
  end(usedTokens: number): void {
    this.useTokens(usedTokens);
    if (this.#runs) for (const { meter } of this.#owners) meter.running--;
    this.#runs = false;
  }

  /** The rates of key and account as they are now. */
  get rates(): readonly Rate[] {
    return this.#rates(true);
  }

  /** @param knowsOthers whether to count requests that other servers admitted. The last report of them may be outdated. */
  #rates(knowsOthers: boolean): readonly Rate[] {
    const resetMs = this.#moveOn();
    const rates: Rate[] = [];
    for (const { kind, limits, meter } of this.#owners) {
      for (const [unit, limit] of [
        ['requests', limits.requestsPerMinute],
        ['tokens', limits.tokensPerMinute],
      ] as const) {
        if (limit !== undefined) {
          const taken = knowsOthers ? meter.all(unit) : meter[unit];
          rates.push({ kind, unit, limit, left: Math.max(0, limit - taken), resetMs });
        }
      }
    }
    return rates;
  }

  #tokensRefusal({ kind, limit, left }: Rate, needed: number): ParleyError {
    return tooManyTokens({ kind, limit, waitMs: this.#moveOn() }, needed, left);
  }

  #kindOf(owner: string): OwnerKind {
    return this.#owners.find(({ id }) => id === owner)?.kind ?? 'key';
  }

  /** Begins a new minute if it is over. Returns the time until the next one. */
  #moveOn(): number {
    const nowMs = this.#clock.now();
    for (const { meter } of this.#owners) meter.moveTo(nowMs);
    return minuteMs - (nowMs % minuteMs);
  }
}

function requestRefusal(
  unit: 'requests' | 'running',
  { kind, limits, waitMs }: { readonly kind: OwnerKind; readonly limits: Limits; readonly waitMs: number },
): ParleyError {
  if (unit === 'running') return tooManyAtOnce(kind, limits.concurrentRequests ?? 0);
  return tooManyRequests({ kind, limit: limits.requestsPerMinute ?? 0, waitMs });
}

/** The rate of a unit that has the least left. */
export function tightest(rates: readonly Rate[], unit: Rate['unit']): Rate | undefined {
  return leastLeft(rates.filter((rate) => rate.unit === unit));
}

function leastLeft<T extends { readonly left: number | bigint }>(all: readonly T[]): T | undefined {
  let least: T | undefined;
  for (const one of all) if (least === undefined || one.left < least.left) least = one;
  return least;
}
