import type { AccountId } from '../values/ids.ts';
import type { NanoCredits } from '../values/money.ts';
import type { Page, PageRequest } from '../values/parameters.ts';
import type { AuditEntry } from './audit.ts';
import type { Limited, Limits } from './limits.ts';

export interface AccountFacts extends Limited {
  readonly id: AccountId;
  readonly name: string;
  readonly createdAtMs: number;
  readonly subscription: Subscription;
  /** When its requests began to be refused. */
  readonly suspendedAtMs?: number | undefined;
  /** A deleted account keeps its records and its ledger. */
  readonly deletedAtMs?: number | undefined;
}

export interface Account extends AccountFacts {
  readonly balance: NanoCredits;
  /** Sum of the holds of its running requests; never more than the balance. */
  readonly held: NanoCredits;
  readonly lastUsedAtMs?: number | undefined;
}

export const accountStates = ['none', 'trial', 'active', 'ended', 'suspended'] as const;
export const accountOrders = ['created', 'created_desc', 'name', 'credits', 'last_used'] as const;
export type AccountOrder = (typeof accountOrders)[number];

/** Which accounts a list has. Deleted accounts are in none. */
export interface AccountFilter {
  /** A part of the name, with A to Z in either case. Default: all names. */
  readonly nameContains?: string | undefined;
  /** A state of the subscription at `nowMs`, or `suspended`. Default: all states. */
  readonly state?: (typeof accountStates)[number] | undefined;
  readonly nowMs: number;
}

export interface AccountTotals {
  readonly accounts: bigint;
  readonly balance: NanoCredits;
}

/** Whether all requests of an account are refused, temporarily or permanently. */
export function isSuspended(account: Pick<AccountFacts, 'suspendedAtMs' | 'deletedAtMs'>): boolean {
  return account.suspendedAtMs !== undefined || account.deletedAtMs !== undefined;
}

export interface AccountStore {
  /** False if the name is taken. */
  create(account: Pick<Account, 'id' | 'name' | 'createdAtMs'>, audit: AuditEntry): Promise<boolean>;
  find(idOrName: string): Promise<Account | undefined>;
  list(page: PageRequest, filter: AccountFilter, order: AccountOrder): Promise<Page<Account, AccountId>>;
  totals(filter: AccountFilter): Promise<AccountTotals>;
  /** The names of known accounts among these ids, in no particular order. */
  names(ids: readonly string[]): Promise<readonly { readonly id: string; readonly name: string }[]>;
  /** False if the account had a trial before. */
  startTrial(id: AccountId, period: Period, audit: AuditEntry): Promise<boolean>;
  /** False if the name is taken. */
  rename(id: AccountId, name: string, audit: AuditEntry): Promise<boolean>;
  /** @param atMs when it was suspended; undefined to serve its requests again */
  suspend(id: AccountId, atMs: number | undefined, audit: AuditEntry): Promise<void>;
  /** Frees the name, revokes the keys and removes the kept answers. Cannot be undone. */
  delete(id: AccountId, atMs: number, audit: AuditEntry): Promise<void>;
  setLimits(id: AccountId, limits: Limits | undefined, audit: AuditEntry): Promise<void>;
  /** Sets the plan of an account, in place of an earlier one. */
  setPlan(id: AccountId, period: Period, audit: AuditEntry): Promise<void>;
  /** Ends plan and trial at `atMs`, unless they end earlier. */
  endSubscription(id: AccountId, atMs: number, audit: AuditEntry): Promise<void>;
}

/** 14 days: the trial length of the contract. */
export const trialMs = 14 * 24 * 60 * 60 * 1000;

export interface Period {
  readonly startsAtMs: number;
  readonly endsAtMs: number;
}

/** The account's only trial and its latest plan period, if any. */
export interface Subscription {
  readonly trial: Period | undefined;
  readonly plan: Period | undefined;
}

export type Entitlement =
  | { readonly state: 'none' }
  | { readonly state: 'trial' | 'active' | 'ended'; readonly period: Period };

export function entitlementAt(subscription: Subscription, nowMs: number): Entitlement {
  const { trial, plan } = subscription;
  if (plan && covers(plan, nowMs)) return { state: 'active', period: plan };
  if (trial && covers(trial, nowMs)) return { state: 'trial', period: trial };
  const last = plan ?? trial;
  return last ? { state: 'ended', period: last } : { state: 'none' };
}

/** Whether speech and transcription may be used. */
export function isEntitled(entitlement: Entitlement): boolean {
  return entitlement.state === 'trial' || entitlement.state === 'active';
}

function covers(period: Period, nowMs: number): boolean {
  return period.startsAtMs <= nowMs && nowMs < period.endsAtMs;
}
