/** The limits of one request: those of its key and those of its account. */

import { rateExcess, tokensExcess } from '../books/rates.ts';
import { type Count, type CountedAmount, countedAmounts, type UnitAmounts } from '../entities/count.ts';
import type { Limited, Limits } from '../entities/limits.ts';
import {
  type Meter,
  minuteMs,
  type RatedOwner,
  type Rates,
  type SharedRate,
  type WantedRates,
} from '../entities/rates.ts';
import type { LimitReached } from '../entities/reservation.ts';
import type { Operation } from '../entities/usage.ts';
import { isWithinAddresses } from '../values/addresses.ts';
import type { Clock } from '../values/clock.ts';
import { ParleyError } from '../values/errors.ts';
import { endUserId } from '../values/labels.ts';
import { type NanoCredits, nanoCredits } from '../values/money.ts';
import { type Affordable, balanceError } from './affordable.ts';
import { matchesModel } from './models.ts';
import { addressNotAllowed, limitError, modelNotAllowed, type OwnerKind } from './refusals.ts';

interface Owner extends RatedOwner {
  readonly kind: OwnerKind;
  /** Meter of this server only. */
  readonly meter: Meter;
}

/** The limit of a minute, and the rest of it. */
export interface Rate {
  readonly kind: OwnerKind;
  readonly owner: string;
  readonly unit: 'requests' | 'tokens';
  readonly limit: number;
  readonly left: number;
  /** Time until the next minute. */
  readonly resetMs: number;
}

const rateNames = ['requestsPerMinute', 'tokensPerMinute', 'concurrentRequests'] as const;

/** Operations whose requests have rates. All others read data, and stay open when a rate is used up. */
const ratedOperations: ReadonlySet<Operation> = new Set<Operation>(['speech', 'transcription', 'chat']);

export interface LimitsDeps {
  readonly rates: Rates;
  /** A time that never goes back, as the minute of a meter would start again. */
  readonly clock: Clock;
  /** End users of a key or an account that may have budgets of their own in a day or a month. */
  readonly endUsersMax: number;
}

/** Finds the limits of a request; undefined if neither key nor account has any. */
export function callLimits(
  { rates, clock, endUsersMax }: LimitsDeps,
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
  return new CallLimits(owners, clock, endUsersMax);
}

export class CallLimits {
  readonly #owners: readonly Owner[];
  readonly #clock: Clock;
  readonly #endUsersMax: bigint;
  /** 1 for a request that counts among the concurrent ones, 0 for a turn of a session that does. */
  #running: 0 | 1 = 1;
  #endUser: string | undefined;
  #runs = false;
  #tokens = 0;
  /** Whether the last attempt to reserve has returned the rates of the other servers. */
  #knowsOthers = false;
  /** The minute in which the tokens are reserved. */
  #minute = 0;

  constructor(owners: readonly Owner[], clock: Clock, endUsersMax: number) {
    this.#owners = owners;
    this.#clock = clock;
    this.#endUsersMax = BigInt(endUsersMax);
  }

  /** @throws `insufficient_scope` */
  checkAddress(address: string): void {
    for (const { kind, limits } of this.#owners) {
      if (limits.addresses && !isWithinAddresses(limits.addresses, address)) throw addressNotAllowed(kind);
    }
  }

  /**
   * Counts the request, all or nothing.
   * @param isTurn whether it is within a session that counts among the concurrent requests
   * @throws `rate_limit_exceeded`
   */
  begin(operation: Operation, isTurn = false): void {
    if (!ratedOperations.has(operation)) return;
    if (isTurn) this.#running = 0;
    const nowMs = this.moveOn();
    for (const owner of this.#owners) {
      const excess = rateExcess(owner.meter, owner, { tokens: 0, running: this.#running });
      if (excess) throw limitError(excess, { startedAtMs: nowMs, nowMs });
    }
    this.#runs = true;
    for (const { meter } of this.#owners) {
      meter.requests++;
      meter.running += this.#running;
    }
  }

  /** Notes the end user whose budget the request spends. The first one stays. */
  noteEndUser(name: string): void {
    this.#endUser ??= name;
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

  /** Reserves tokens of the running minute. Changes nothing, and returns the limit, if one does not cover them. Called once. */
  reserveTokens(tokens: number): LimitReached | undefined {
    this.moveOn();
    for (const owner of this.#owners) {
      const excess = tokensExcess(owner.meter, owner, tokens);
      if (excess) return excess;
    }
    for (const { meter } of this.#owners) {
      meter.tokens += tokens;
      this.#minute = meter.minute;
    }
    this.#tokens = tokens;
    return undefined;
  }

  /** The rates to reserve where servers share a database; undefined without any. @param tokens the most that a chat can use */
  wantedRates(tokens = 0): WantedRates | undefined {
    this.#knowsOthers = false;
    const owners = this.#owners.filter(({ limits }) => rateNames.some((name) => limits[name] !== undefined));
    return owners.length > 0 ? { owners, tokens, running: this.#running } : undefined;
  }

  /** Notes the rates of all servers as they were before this request. */
  noteShared(rates: readonly SharedRate[]): void {
    this.#knowsOthers = true;
    const own = { requests: 1, tokens: this.#tokens };
    for (const { id, meter } of this.#owners) {
      const all = rates.find(({ owner }) => owner === id);
      if (all) meter.noteAll(all, own);
    }
  }

  /** @param startedAtMs the time that decides about day and month */
  countedAmounts(amounts: UnitAmounts, startedAtMs: number): readonly CountedAmount[] {
    return this.#owners.flatMap(({ id, limits }) => {
      const { perEndUser: budgets } = limits;
      const own = countedAmounts(id, limits, amounts, startedAtMs);
      if (budgets === undefined) return own;
      // Requests without an end user spend one budget together.
      const spent = countedAmounts(endUserId(id, this.#endUser), { budgets }, amounts, startedAtMs);
      return [
        ...own,
        ...spent,
        ...(this.#endUser === undefined ? [] : spent.map((one) => this.#name(id, one))),
      ];
    });
  }

  /** The name of an end user, counted with those of other end users. */
  #name(owner: string, { owner: endUser, unit, period }: Count): CountedAmount {
    const firstOf = { owner: endUser, unit, period };
    return { owner, unit: 'end_users', period, amount: 1n, limit: this.#endUsersMax, firstOf };
  }

  /** @param taken used and reserved amounts, one for each of `counted` */
  affordable(
    available: NanoCredits,
    counted: readonly CountedAmount[],
    taken: readonly bigint[],
    startedAtMs: number,
  ): Affordable {
    const budgets = counted.flatMap((budget, at) => {
      if (budget.unit !== 'credits') return [];
      const used = taken[at] ?? 0n;
      const left = used < budget.limit ? budget.limit - used : 0n;
      return { reached: { ...budget, kind: 'limit_reached', taken: used } as const, left };
    });
    const budget = leastLeft(budgets);
    const isBudgetLess = budget !== undefined && budget.left < available;
    const tokens = tightest(this.#rates(this.#knowsOthers), 'tokens');
    const errorOf = (reached: LimitReached) => limitError(reached, { startedAtMs, nowMs: this.moveOn() });
    return {
      credits: isBudgetLess ? nanoCredits(budget.left) : available,
      ...(tokens && { tokens }),
      creditsError: (needed) =>
        isBudgetLess ? errorOf({ ...budget.reached, amount: needed }) : balanceError(needed, available),
      tokensError: (needed) =>
        tokens ? errorOf(tokensReached(tokens, needed)) : new ParleyError('rate_limit_exceeded'),
    };
  }

  /** Replaces the reserved tokens by the used ones, unless their minute is over. */
  useTokens(used: number): void {
    const more = used - this.#tokens;
    this.#tokens = used;
    for (const { meter } of this.#owners) if (meter.minute === this.#minute) meter.tokens += more;
  }

  end(usedTokens: number): void {
    this.useTokens(usedTokens);
    if (this.#runs) for (const { meter } of this.#owners) meter.running -= this.#running;
    this.#runs = false;
  }

  /** The current rates of key and account. */
  get rates(): readonly Rate[] {
    return this.#rates(true);
  }

  /** @param withOthers whether to include requests that other servers admitted, as last reported */
  #rates(withOthers: boolean): readonly Rate[] {
    const resetMs = minuteMs - (this.moveOn() % minuteMs);
    const rates: Rate[] = [];
    const add = ({ kind, id, meter }: Owner, unit: Rate['unit'], limit: number | undefined) => {
      if (limit === undefined) return;
      const taken = withOthers ? meter.all(unit) : meter[unit];
      rates.push({ kind, owner: id, unit, limit, left: Math.max(0, limit - taken), resetMs });
    };
    for (const owner of this.#owners) {
      add(owner, 'requests', owner.limits.requestsPerMinute);
      add(owner, 'tokens', owner.limits.tokensPerMinute);
    }
    return rates;
  }

  /** Begins a new minute if it is over. Returns the time. */
  moveOn(): number {
    const nowMs = this.#clock.now();
    for (const { meter } of this.#owners) meter.moveTo(nowMs);
    return nowMs;
  }
}

function tokensReached({ owner, limit, left }: Rate, needed: number): LimitReached {
  const amounts = { amount: BigInt(needed), limit: BigInt(limit), taken: BigInt(limit - left) };
  return { kind: 'limit_reached', owner, unit: 'tokens', ...amounts };
}

/** The rate of a unit with the smallest rest. */
export function tightest(rates: readonly Rate[], unit: Rate['unit']): Rate | undefined {
  return leastLeft(rates.filter((rate) => rate.unit === unit));
}

function leastLeft<T extends { readonly left: number | bigint }>(all: readonly T[]): T | undefined {
  let least: T | undefined;
  for (const one of all) if (least === undefined || one.left < least.left) least = one;
  return least;
}
