/** The limits of a key, or of an account as a whole. */

import type { NanoCredits } from '../values/money.ts';
import { present } from '../values/present.ts';

export interface Budgets {
  /** Credits per day (UTC). */
  readonly day?: NanoCredits | undefined;
  /** Credits per month (UTC). */
  readonly month?: NanoCredits | undefined;
  /** Credits in total. */
  readonly total?: NanoCredits | undefined;
}

/** An undefined member sets no limit. */
export interface Limits {
  /** Ids of models that may be called; `*` stands for any characters. */
  readonly models?: readonly string[] | undefined;
  /** Addresses and networks (CIDR) that may call. */
  readonly addresses?: readonly string[] | undefined;
  /** Requests for speech, transcription and chat per minute of the clock. */
  readonly requestsPerMinute?: number | undefined;
  /** Tokens of chats, prompt and answer, per minute of the clock. */
  readonly tokensPerMinute?: number | undefined;
  /** Concurrent requests for speech, transcription and chat. */
  readonly concurrentRequests?: number | undefined;
  /** Seconds of audio to transcribe per day (UTC). */
  readonly audioSecondsPerDay?: number | undefined;
  /** Characters to speak per day (UTC). */
  readonly charactersPerDay?: number | undefined;
  readonly budgets?: Budgets | undefined;
}

/** A key or an account. */
export interface Limited {
  /** Undefined for no limits. */
  readonly limits?: Limits | undefined;
}

export const rateNames = [
  'requestsPerMinute',
  'tokensPerMinute',
  'concurrentRequests',
  'audioSecondsPerDay',
  'charactersPerDay',
] as const;
export const budgetNames = ['day', 'month', 'total'] as const;

/** The limits without unset members; undefined if none is left. */
export function compactLimits(limits: Limits): Limits | undefined {
  const budgets = present(limits.budgets ?? {});
  const others = present({ ...limits, budgets: undefined });
  const compact = { ...others, ...(Object.keys(budgets).length > 0 && { budgets }) };
  return Object.keys(compact).length > 0 ? compact : undefined;
}

/** Limits as text in the database: JSON, with amounts as decimal digits. Empty for none. */
export function limitsToText(limits: Limits | undefined): string {
  if (limits === undefined) return '';
  return JSON.stringify(limits, (_, value: unknown) => (typeof value === 'bigint' ? String(value) : value));
}

export function limitsFromText(text: string): Limits | undefined {
  if (text === '') return undefined;
  const { budgets, ...limits } = JSON.parse(text) as Omit<Limits, 'budgets'> & {
    readonly budgets?: Readonly<Record<string, string>>;
  };
  if (budgets === undefined) return limits;
  const amounts = Object.entries(budgets).map(([period, amount]) => [period, BigInt(amount)]);
  return { ...limits, budgets: Object.fromEntries(amounts) as Budgets };
}
