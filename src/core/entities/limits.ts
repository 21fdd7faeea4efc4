/** The limits of a key, or of an account as a whole. */

import type { NanoCredits } from '../values/money.ts';
import { present } from '../values/present.ts';

export interface Budgets {
  /** Credits in a day (UTC). */
  readonly day?: NanoCredits | undefined;
  /** Credits in a month (UTC). */
  readonly month?: NanoCredits | undefined;
  /** Credits in all. */
  readonly total?: NanoCredits | undefined;
}

/** A member that is undefined sets no limit. */
export interface Limits {
  /** Ids of models that may be called; `*` stands for any characters. */
  readonly models?: readonly string[] | undefined;
  /** Addresses and networks (CIDR) that may call. */
  readonly addresses?: readonly string[] | undefined;
  /** Requests of speech, transcription and chat in a minute of the clock. */
  readonly requestsPerMinute?: number | undefined;
  /** Tokens of chats, prompt and answer, in a minute of the clock. */
  readonly tokensPerMinute?: number | undefined;
  /** Requests of speech, transcription and chat that run at once. */
  readonly concurrentRequests?: number | undefined;
  /** Seconds of audio to transcribe in a day (UTC). */
  readonly audioSecondsPerDay?: number | undefined;
  /** Characters to speak in a day (UTC). */
  readonly charactersPerDay?: number | undefined;
  readonly budgets?: Budgets | undefined;
}

/** A key or an account. */
export interface Limited {
  /** Undefined: none. */
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

/** The limits without members that are not set; undefined if none is left. */
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
