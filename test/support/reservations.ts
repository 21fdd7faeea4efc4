import type { CountedAmount } from '../../src/core/entities/count.ts';
import type { RequestStore, ReserveOutcome } from '../../src/core/entities/reservation.ts';
import type { Store } from '../../src/core/entities/store.ts';
import type { AccountId } from '../../src/core/values/ids.ts';
import { replacing } from './replacing.ts';

/** Units of fair use in November 2026. */
export function fairUse(owner: AccountId, amount: number, limit: number): CountedAmount {
  return { owner, unit: 'fair_use', period: '2026-11', amount: BigInt(amount), limit: BigInt(limit) };
}

/** Whether a request was reserved; if not, the unit of the limit that refused it. */
export function outcomeOf(outcome: ReserveOutcome): string {
  return outcome.kind === 'limit_reached' ? outcome.unit : outcome.kind;
}

/** A store with some operations on requests replaced. */
export function withRequests(store: Store, replaced: Partial<RequestStore>): Store {
  return { ...store, requests: replacing(store.requests, () => replaced) };
}
