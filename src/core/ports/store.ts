/**
 * What core asks of persistence: whole operations, each atomic and durable when its promise resolves. An implementation
 * may group the operations of many requests into one transaction.
 */
import type { Period, Subscription } from '../entitlement.ts';
import type { Month } from '../fair-use.ts';
import type { AccountId, KeyId, LedgerEntryId, RequestId } from '../ids.ts';
import type { KeyKind } from '../keys.ts';
import type { NanoCredits } from '../money.ts';

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

export interface Account {
  readonly id: AccountId;
  readonly name: string;
  readonly createdAtMs: number;
  readonly subscription: Subscription;
  readonly balance: NanoCredits;
}

export interface KeyHolder {
  readonly key: Key;
  /** Undefined for an admin key. */
  readonly account: Account | undefined;
}

export type Wire = 'rest' | 'connect' | 'grpc' | 'grpc-web';
export type Operation = 'speech' | 'transcription' | 'chat' | 'catalog' | 'account';
export type RecordState = 'started' | 'ok' | 'refused' | 'failed' | 'cancelled' | 'interrupted' | 'replayed';

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
  readonly cost: NanoCredits | undefined;
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

export interface LedgerLoad {
  readonly id: LedgerEntryId;
  readonly accountId: AccountId;
  /** Above zero. */
  readonly amount: NanoCredits;
  readonly reason: string;
  /** A second load of the account with the same key changes nothing. */
  readonly idempotencyKey: string;
  readonly createdAtMs: number;
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

export interface Store {
  findKey(hash: string): Promise<KeyHolder | undefined>;

  /**
   * Writes a request's record as `started` and sets its units aside, both or neither. False where the units would
   * pass the limit; then nothing is written.
   */
  admit(record: RecordStart, reservation: FairUseReservation | undefined): Promise<boolean>;
  /** Raises what a started request has set aside to `reservation.units`. False, and no change, where that passes the limit. */
  extend(id: RequestId, reservation: FairUseReservation): Promise<boolean>;
  /** Ends a started record, gives back what it had set aside and spends `end.fairUseUnits`. */
  finish(id: RequestId, end: RecordEnd): Promise<void>;
  /** Writes the record of a request that ended without being admitted. */
  record(start: RecordStart, end: RecordEnd): Promise<void>;

  /** Units of a month, settled and reserved. */
  fairUseUnits(accountId: AccountId, month: Month): Promise<number>;
  /** Newest first, of one account or of all. */
  listRecords(accountId: AccountId | undefined, page: PageRequest): Promise<Page<UsageRecord, RequestId>>;

  /** False where the name is taken. */
  createAccount(account: Pick<Account, 'id' | 'name' | 'createdAtMs'>): Promise<boolean>;
  findAccount(idOrName: string): Promise<Account | undefined>;
  listAccounts(page: PageRequest): Promise<Page<Account, AccountId>>;
  /** False where the account has had a trial. */
  startTrial(accountId: AccountId, period: Period): Promise<boolean>;
  /** False where a load with this key has other facts. */
  loadCredits(load: LedgerLoad): Promise<boolean>;

  createKey(key: Key): Promise<void>;
  findKeyById(id: string): Promise<Key | undefined>;
  listKeys(accountId: AccountId): Promise<readonly Key[]>;
  /** Writes the new key and ends the old one at `oldExpiresAtMs`, both or neither. */
  rotateKey(old: KeyId, oldExpiresAtMs: number, replacement: Key): Promise<void>;
  revokeKey(id: KeyId, revokedAtMs: number): Promise<void>;

  /** Whether there is no account and no key yet. */
  isEmpty(): Promise<boolean>;
  close(): Promise<void>;
}
