/**
 * The rows that the rules of money read and change: rows in memory for SQLite, rows locked by a transaction for
 * PostgreSQL. The rules check everything first, then change the rows.
 */
import type { Count, CountedAmount } from '../entities/count.ts';
import type { Meter, RateUse } from '../entities/rates.ts';
import type { AccountId } from '../values/ids.ts';

/** The credits of an account. */
export interface Funds {
  /** The sum of its entries. */
  balance: bigint;
  /** The sum of the holds of its running requests. */
  held: bigint;
  /** Compared with the version in the reservation, if that has one. */
  readonly policyVersion?: bigint;
}

/** Amounts of a count: those of ended requests, and those of running ones. */
export interface Amounts {
  used: bigint;
  reserved: bigint;
}

export interface Books {
  /** @throws if there is no such account */
  funds(id: AccountId): Funds;
  count(count: Count): Amounts;
  /** Whether no request has reserved this count before. */
  isNew(count: Count): boolean;
  /** The rates of a key or an account over all servers; undefined if there is only one server. */
  meter(owner: string): Meter | undefined;
}

/** Everything that a running request has reserved. */
export interface HeldAmounts {
  readonly accountId: AccountId;
  /** Undefined if the request is not paid from credits. */
  readonly hold: bigint | undefined;
  readonly counted: readonly CountedAmount[];
  readonly rateUses: readonly RateUse[];
}

export const none: readonly never[] = [];
