/**
 * What core asks of persistence: whole operations, each atomic and durable when its promise resolves. An implementation
 * may group the operations of many requests into one transaction.
 */
import type { Period, Subscription } from '../entitlement.ts';
import type { Month } from '../fair-use.ts';
import type { AccountId, AuditId, KeyId, LedgerEntryId, RequestId } from '../ids.ts';
import type { KeyKind } from '../keys.ts';
import type { NanoCredits, Price } from '../money.ts';
import type { PruneCut, Pruned, UsageArchive } from './usage-archive.ts';

export const scopes = ['speech', 'transcription', 'chat'] as const;
export type Scope = (typeof scopes)[number];

export interface Key {
  readonly id: KeyId;
  /** Undefined for an admin key. */
  readonly accountId: AccountId | undefined;
  readonly kind: KeyKind;
  readonly name: string;
  readonly hash: string;
  readonly lastFour: string;
  readonly scopes: readonly Scope[];
  readonly createdAtMs: number;
  readonly expiresAtMs: number | undefined;
  readonly revokedAtMs: number | undefined;
}

/** What of an account nobody but an administrator changes. */
export interface AccountFacts {
  readonly id: AccountId;
  readonly name: string;
  readonly createdAtMs: number;
  readonly subscription: Subscription;
}

export interface Account extends AccountFacts {
  /** The sum of the account's ledger entries. */
  readonly balance: NanoCredits;
  /** The sum of the holds of its running requests; never more than the balance. */
  readonly held: NanoCredits;
}

export interface KeyHolder {
  readonly key: Key;
  /** Undefined for an admin key. */
  readonly account: AccountFacts | undefined;
}

export type Wire = 'rest' | 'connect' | 'grpc' | 'grpc-web';
export const operations = [...scopes, 'catalog', 'account'] as const;
export type Operation = (typeof operations)[number];
export const recordStates = [
  'started',
  'ok',
  'refused',
  'failed',
  'cancelled',
  'interrupted',
  'replayed',
] as const;
export type RecordState = (typeof recordStates)[number];

/** What is known of a request when it is admitted or turned away. */
export interface RecordStart {
  readonly id: RequestId;
  readonly accountId: AccountId;
  readonly keyId: KeyId;
  readonly operation: Operation;
  readonly model: string | undefined;
  readonly wire: Wire;
  readonly startedAtMs: number;
  /** Speech: code points of input. */
  readonly characters: number | undefined;
}

/** What is known when it has ended. */
export interface RecordEnd {
  readonly state: Exclude<RecordState, 'started'>;
  readonly httpStatus: number;
  readonly code: string | undefined;
  readonly firstOutputMs: number | undefined;
  readonly durationMs: number;
  readonly audioMsIn: number | undefined;
  readonly audioMsOut: number | undefined;
  readonly tokens: TokenUsage | undefined;
  readonly fairUseUnits: number | undefined;
  /** What is debited; never more than the hold. */
  readonly cost: NanoCredits | undefined;
  /** What the tokens would have cost beyond the hold. */
  readonly overrun: NanoCredits | undefined;
}

export interface TokenUsage {
  readonly promptTokens: number;
  /** Reasoning included. */
  readonly completionTokens: number;
  readonly totalTokens: number;
  readonly source: 'reported' | 'estimated';
}

/** A request as it is stored: what has not been learnt yet, or never applies, is undefined. */
export type UsageRecord = RecordStart & {
  readonly [K in keyof RecordEnd]: K extends 'state' ? RecordState : RecordEnd[K] | undefined;
};

/** Units of a month's allowance that a request sets aside while it runs. */
export interface FairUseReservation {
  readonly month: Month;
  readonly units: number;
  /** All units of the month, settled and reserved, stay at or below this. */
  readonly limitUnits: number;
}

/** Credits that a chat request sets aside while it runs, with the prices of that moment. */
export interface Hold {
  readonly amount: NanoCredits;
  readonly price: Price;
}

export interface Reservation {
  readonly fairUse?: FairUseReservation | undefined;
  readonly hold?: Hold | undefined;
}

export type AdmitOutcome = 'admitted' | 'fair_use_limit_reached' | 'insufficient_credits';

export interface LedgerEntry {
  readonly id: LedgerEntryId;
  readonly accountId: AccountId;
  readonly kind: 'load' | 'debit' | 'adjustment';
  /** Below zero for what is taken. */
  readonly amount: NanoCredits;
  readonly reason: string;
  /** Of a debit the request's id; of the others the key under which they happen once. */
  readonly reference: string;
  readonly createdAtMs: number;
}

export type EntryOutcome = 'entered' | 'conflict' | 'insufficient_credits' | 'balance_too_large';

export interface RecordFilter {
  readonly accountId?: AccountId | undefined;
  /** Started at or after. */
  readonly fromMs?: number | undefined;
  /** Started before. */
  readonly untilMs?: number | undefined;
  readonly operation?: string | undefined;
  readonly model?: string | undefined;
  readonly state?: string | undefined;
}

/** The first request under an Idempotency-Key, and what makes another the same. */
export interface AnswerClaim {
  readonly accountId: AccountId;
  readonly operation: Operation;
  readonly key: string;
  readonly fingerprint: string;
  readonly requestId: RequestId;
  readonly nowMs: number;
  /** Claims from before this are forgotten. */
  readonly forgetBeforeMs: number;
}

/** What becomes of a claim when its request ends: its answer is kept, or the key is free again. */
export interface ClaimEnd {
  readonly claim: AnswerClaim;
  readonly answer: Uint8Array | undefined;
}

export type ClaimOutcome =
  | { readonly kind: 'claimed' }
  | { readonly kind: 'running' }
  | { readonly kind: 'conflict' }
  | { readonly kind: 'kept'; readonly answer: Uint8Array };

/** What an administrator does, written together with the change itself. */
export interface AuditEntry {
  readonly id: AuditId;
  readonly createdAtMs: number;
  /** The id of the admin key, or `cli` for a command on the data folder itself. */
  readonly actor: string;
  readonly action: string;
  readonly target: string;
  readonly details: Readonly<Record<string, string | number | readonly string[]>>;
}

export interface Page<T, Id extends string> {
  readonly items: readonly T[];
  /** The id after which the next page begins; undefined on the last. */
  readonly nextAfter: Id | undefined;
}

export interface PageRequest {
  readonly size: number;
  readonly after: string | undefined;
}

export interface Store extends UsageArchive {
  /** Revoked and expired keys too. It may be answered from memory, but never with what has changed since. */
  findKey(hash: string): Promise<KeyHolder | undefined>;
  /** An account's balance less what is held, at this moment. */
  availableCredits(accountId: AccountId): Promise<NanoCredits>;

  /**
   * Writes a request's record as `started` and sets aside its units and its hold: all or nothing. The guards are part of
   * the write: the month's units stay at or below the limit, and what is held at or below the balance.
   */
  admit(record: RecordStart, reservation: Reservation): Promise<AdmitOutcome>;
  /** Raises what a started request has set aside to `fairUse.units`. False, and no change, where that passes the limit. */
  extend(id: RequestId, fairUse: FairUseReservation): Promise<boolean>;
  /**
   * Ends a started record in one write: gives back what it had set aside, spends `end.fairUseUnits`, and debits
   * `end.cost` with an entry of the ledger. The claim of the request, where it has one, ends with it.
   */
  finish(id: RequestId, end: RecordEnd, claim?: ClaimEnd): Promise<void>;
  /** Writes the record of a request that ended without being admitted. */
  record(start: RecordStart, end: RecordEnd, claim?: ClaimEnd): Promise<void>;
  /**
   * Ends every request that is still started as `interrupted`, free of charge, and frees every unfinished claim. Called once, at
   * the start of a server. Returns the number of requests.
   */
  recover(nowMs: number): Promise<number>;

  /** Units of a month, settled and reserved. */
  fairUseUnits(accountId: AccountId, month: Month): Promise<number>;
  /** Newest first. */
  listRecords(filter: RecordFilter, page: PageRequest): Promise<Page<UsageRecord, RequestId>>;

  /**
   * Removes records that have ended and keeps what they came to, a few at a time between the writes of requests. It stops
   * at `recordsMax`, rounded up to its next step; what it has done by then is done. Nothing removed leaves no audit entry.
   */
  prune(cut: PruneCut, recordsMax: number, audit: AuditEntry): Promise<Pruned>;

  /** Takes an Idempotency-Key for a request, or tells what became of the first one under it. */
  claimAnswer(claim: AnswerClaim): Promise<ClaimOutcome>;

  /** False where the name is taken. */
  createAccount(account: Pick<Account, 'id' | 'name' | 'createdAtMs'>, audit: AuditEntry): Promise<boolean>;
  findAccount(idOrName: string): Promise<Account | undefined>;
  listAccounts(page: PageRequest): Promise<Page<Account, AccountId>>;
  /** False where the account has had a trial. */
  startTrial(accountId: AccountId, period: Period, audit: AuditEntry): Promise<boolean>;
  /** Sets the account's plan; one that was set before is replaced. */
  setPlan(accountId: AccountId, period: Period, audit: AuditEntry): Promise<void>;
  /** Ends plan and trial at a time, where they would last longer. */
  endSubscription(accountId: AccountId, atMs: number, audit: AuditEntry): Promise<void>;

  /**
   * Enters a load or an adjustment. The same reference with the same facts enters nothing and is well; with others it is a
   * `conflict`. An adjustment cannot take the balance below what is held, and no entry can take it over the largest amount.
   */
  enter(entry: LedgerEntry, audit: AuditEntry): Promise<EntryOutcome>;
  /** Newest first. */
  listEntries(accountId: AccountId, page: PageRequest): Promise<Page<LedgerEntry, LedgerEntryId>>;

  createKey(key: Key, audit: AuditEntry): Promise<void>;
  findKeyById(id: string): Promise<Key | undefined>;
  /** Those of an account, or the admin keys. */
  listKeys(accountId: AccountId | undefined): Promise<readonly Key[]>;
  /** Writes the new key and ends the old one at `oldExpiresAtMs`, both or neither. */
  rotateKey(old: KeyId, oldExpiresAtMs: number, replacement: Key, audit: AuditEntry): Promise<void>;
  revokeKey(id: KeyId, revokedAtMs: number, audit: AuditEntry): Promise<void>;

  /** Newest first. */
  listAudit(page: PageRequest): Promise<Page<AuditEntry, AuditId>>;

  /** Whether there is no account and no key yet. */
  isEmpty(): Promise<boolean>;
  close(): Promise<void>;
}
