/** The store for a process that does not have it: each operation is a call to the one that does. */
import type { Store } from '../core/ports/store.ts';
import { type Calls, callable } from './calls.ts';
import type { KeptHolders } from './kept-holders.ts';

export const storeOperations = [
  'findKey',
  'availableCredits',
  'admit',
  'extend',
  'finish',
  'record',
  'fairUseUnits',
  'listRecords',
  'usageTotals',
  'countPrunable',
  'prune',
  'claimAnswer',
  'createAccount',
  'findAccount',
  'listAccounts',
  'startTrial',
  'setPlan',
  'endSubscription',
  'enter',
  'listEntries',
  'createKey',
  'findKeyById',
  'listKeys',
  'rotateKey',
  'revokeKey',
  'listAudit',
  'isEmpty',
] as const satisfies readonly (keyof Store)[];

/** What of a store other processes may call. */
export type StoreOperations = Pick<Store, (typeof storeOperations)[number]>;

/** @param holders to be told to forget when an administrator changes something; nothing else is kept here */
export function remoteStore(calls: Calls, holders: KeptHolders): Store {
  const operations = callable<StoreOperations>(calls, storeOperations);
  return {
    ...operations,
    findKey: (hash) => holders.find(hash, operations.findKey),
    recover: () => Promise.reject(new Error('Only the process that has the data folder recovers it.')),
    // The store itself belongs to the other process.
    close: () => calls.drain(),
  };
}
