import { randomUUID } from 'node:crypto';

declare const brand: unique symbol;
type Branded<T, Name extends string> = T & { readonly [brand]: Name };

export type AccountId = Branded<string, 'AccountId'>;
export type KeyId = Branded<string, 'KeyId'>;
/** The id of a request, of its usage record and of the answer's `x-request-id`. */
export type RequestId = Branded<string, 'RequestId'>;
export type LedgerEntryId = Branded<string, 'LedgerEntryId'>;
export type AuditId = Branded<string, 'AuditId'>;

/**
 * A new id: the prefix, 12 hex digits of the time in milliseconds and 20 random ones. Ids of one kind sort by the time
 * they were made, so a table that is keyed by them grows at its end and is paged by them.
 */
function newId(prefix: string, nowMs: number): string {
  // Every digit of these two groups of a UUID is random. Node has the bytes of UUIDs in stock; others cost a system call.
  const uuid = randomUUID();
  return `${prefix}_${timeDigits(nowMs)}${uuid.slice(0, 8)}${uuid.slice(-12)}`;
}

function timeDigits(nowMs: number): string {
  return nowMs.toString(16).padStart(12, '0');
}

export const newAccountId = (nowMs: number): AccountId => newId('acc', nowMs) as AccountId;
export const newKeyId = (nowMs: number): KeyId => newId('key', nowMs) as KeyId;
export const newRequestId = (nowMs: number): RequestId => newId('req', nowMs) as RequestId;
/** Not above any request id of this moment or later, and above all earlier ones. */
export const firstRequestId = (nowMs: number): string => `req_${timeDigits(nowMs)}`;
export const newLedgerEntryId = (nowMs: number): LedgerEntryId => newId('led', nowMs) as LedgerEntryId;
/** The id of the debit for a request, which has at most one. */
export const debitEntryId = (id: RequestId): LedgerEntryId => id.replace(/^req/, 'led') as LedgerEntryId;
export const newAuditId = (nowMs: number): AuditId => newId('aud', nowMs) as AuditId;
