/** Rates in the form that the rules of money read and change. */
import type { Meter, RatedOwner, RateUse, SharedRate, WantedRates } from '../entities/rates.ts';
import type { LimitReached } from '../entities/reservation.ts';
import { type Books, none } from './books.ts';

/** The rates of all servers before a request. */
export function sharedRates(books: Books, { owners }: WantedRates): readonly SharedRate[] {
  return owners.flatMap(({ id }) => {
    const meter = books.meter(id);
    return meter ? { owner: id, requests: meter.requests, tokens: meter.tokens } : none;
  });
}

/** The first limit that a request exceeds over all servers. */
export function fitRates(books: Books, { owners, ...wanted }: WantedRates): LimitReached | undefined {
  for (const owner of owners) {
    const meter = books.meter(owner.id);
    const excess = meter && rateExcess(meter, owner, wanted);
    if (excess) return excess;
  }
  return undefined;
}

export function takeRates(books: Books, { owners, tokens, running = 1 }: WantedRates): readonly RateUse[] {
  return owners.flatMap(({ id }) => {
    const meter = books.meter(id);
    if (meter === undefined) return none;
    meter.requests++;
    meter.running += running;
    meter.tokens += tokens;
    const use = { owner: id, minute: meter.minute, tokens };
    return running === 0 ? { ...use, running } : use;
  });
}

/** Ends uses of rates. @param usedTokens the used part of the reserved tokens */
export function endRates(books: Books, rateUses: readonly RateUse[], usedTokens: number): void {
  for (const { owner, minute, tokens, running = 1 } of rateUses) {
    const meter = books.meter(owner);
    if (meter === undefined) continue;
    meter.running = Math.max(0, meter.running - running);
    if (meter.minute === minute) meter.tokens = Math.max(0, meter.tokens + usedTokens - tokens);
  }
}

/** The limit that one more request exceeds. */
export function rateExcess(
  meter: Meter,
  owner: RatedOwner,
  { tokens, running = 1 }: Omit<WantedRates, 'owners'>,
): LimitReached | undefined {
  const { requestsPerMinute = Infinity, concurrentRequests = Infinity } = owner.limits;
  if (meter.requests >= requestsPerMinute) return reached(meter, owner, 'requests', requestsPerMinute);
  if (meter.running + running > concurrentRequests)
    return reached(meter, owner, 'running', concurrentRequests);
  return tokensExcess(meter, owner, tokens);
}

export function tokensExcess(meter: Meter, owner: RatedOwner, tokens: number): LimitReached | undefined {
  const { tokensPerMinute = Infinity } = owner.limits;
  if (tokens === 0 || meter.tokens + tokens <= tokensPerMinute) return undefined;
  return { ...reached(meter, owner, 'tokens', tokensPerMinute), amount: BigInt(tokens) };
}

function reached(
  meter: Meter,
  { id: owner }: RatedOwner,
  unit: 'requests' | 'running' | 'tokens',
  limit: number,
): LimitReached {
  return { kind: 'limit_reached', owner, unit, amount: 1n, limit: BigInt(limit), taken: BigInt(meter[unit]) };
}
