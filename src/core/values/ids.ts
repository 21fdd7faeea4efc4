import { randomUUID } from 'node:crypto';
import { bounds, matches } from './bounds.ts';

declare const brand: unique symbol;
type Branded<T, Name extends string> = T & { readonly [brand]: Name };

export type AccountId = Branded<string, 'AccountId'>;
export type KeyId = Branded<string, 'KeyId'>;
/** The id of a request: of its usage record, and in `x-request-id`. */
export type RequestId = Branded<string, 'RequestId'>;
export type LedgerEntryId = Branded<string, 'LedgerEntryId'>;
export type AuditId = Branded<string, 'AuditId'>;
export type AlertId = Branded<string, 'AlertId'>;

/**
 * A new id: the prefix, 12 hex digits of the time in milliseconds and 20 random hex digits. Ids sort by creation time,
 * so that tables grow at their end and can be paged by id.
 */
function newId(prefix: string, nowMs: number): string {
  // These two groups of a UUID are all random. Node buffers random bytes for UUIDs; randomBytes costs a system call.
  const uuid = randomUUID();
  return `${prefix}_${timeDigits(nowMs)}${uuid.slice(0, 8)}${uuid.slice(-12)}`;
}

/** In halves, as V8 prints small integers ten times as fast. */
function timeDigits(nowMs: number): string {
  const high = Math.floor(nowMs / halfOfTime);
  return sixDigits(high) + sixDigits(nowMs - high * halfOfTime);
}

const halfOfTime = 0x1_00_00_00;
const sixDigits = (half: number) => half.toString(16).padStart(6, '0');

export const newAccountId = (nowMs: number): AccountId => newId('acc', nowMs) as AccountId;
export const newKeyId = (nowMs: number): KeyId => newId('key', nowMs) as KeyId;
export const newRequestId = (nowMs: number): RequestId => newId('req', nowMs) as RequestId;
export const isRequestId = (text: string): text is RequestId => matches(text, bounds.requestId);
/** A lower bound for all request ids from this moment on, above all earlier ids. */
export const firstRequestId = (nowMs: number): string => `req_${timeDigits(nowMs)}`;
/** The same bound for the ids of ledger entries. */
export const firstLedgerEntryId = (nowMs: number): string => `led_${timeDigits(nowMs)}`;
export const newLedgerEntryId = (nowMs: number): LedgerEntryId => newId('led', nowMs) as LedgerEntryId;
export const timeOfId = (id: string): number => Number.parseInt(id.slice(4, 16), 16);
/** The id of a request's debit. A request has at most one. */
export const debitEntryId = (id: RequestId): LedgerEntryId => `led${id.slice(3)}` as LedgerEntryId;
export const requestOfDebit = (id: string): RequestId => id.replace(/^led/, 'req') as RequestId;
export const newAuditId = (nowMs: number): AuditId => newId('aud', nowMs) as AuditId;
/** A lower bound for all ids of audit entries from this moment on. */
export const firstAuditId = (nowMs: number): string => `aud_${timeDigits(nowMs)}`;
export const newAlertId = (nowMs: number): AlertId => newId('alr', nowMs) as AlertId;
