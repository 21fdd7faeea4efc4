/** The request that is measured: a chat that holds credits, and costs less than it held. */

import { nanoCredits, type Price } from '../../src/core/billing/money.ts';
import { type AccountId, type KeyId, newRequestId } from '../../src/core/ids.ts';
import type { RecordEnd, RecordStart, TokenUsage } from '../../src/core/ports/usage.ts';

export const price: Price = {
  inputPerMillion: nanoCredits(100_000_000n),
  outputPerMillion: nanoCredits(400_000_000n),
};
export const holdAmount = nanoCredits(500_000n);
export const costAmount = nanoCredits(200_000n);
export const tokens: TokenUsage = {
  promptTokens: 1_000,
  completionTokens: 250,
  totalTokens: 1_250,
  source: 'reported',
};

/** One way to take a request through key, hold, settlement and record, durably. */
export interface MoneyPath {
  /** @param keyHash of the key that the request comes with */
  request(keyHash: string): Promise<void>;
  close(): Promise<void>;
}

export function startOf(accountId: AccountId, keyId: KeyId): RecordStart {
  const startedAtMs = Date.now();
  const known = { operation: 'chat', model: 'eliza', wire: 'rest', characters: undefined } as const;
  return { ...known, id: newRequestId(startedAtMs), accountId, keyId, startedAtMs };
}

export const end: RecordEnd = {
  state: 'ok',
  httpStatus: 200,
  code: undefined,
  firstOutputMs: 5,
  durationMs: 9,
  audioMsIn: undefined,
  audioMsOut: undefined,
  tokens,
  fairUseUnits: undefined,
  cost: costAmount,
  overrun: undefined,
};
