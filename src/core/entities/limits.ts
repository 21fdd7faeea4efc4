/** The limits of a key, or of an account as a whole. */

import { present } from '../values/json.ts';
import type { NanoCredits } from '../values/money.ts';

export interface Budgets {
  readonly day?: NanoCredits | undefined;
  readonly month?: NanoCredits | undefined;
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
  /** The budget of each end user that the client names. */
  readonly perEndUser?: Omit<Budgets, 'total'> | undefined;
}

/** A key or an account. */
export interface Limited {
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
export function compactLimits({ budgets, perEndUser, ...others }: Limits): Limits | undefined {
  return filled({ ...others, budgets: filled(budgets), perEndUser: filled(perEndUser) });
}

function filled<Group extends object>(group: Group | undefined) {
  const members = present(group ?? {});
  return Object.keys(members).length > 0 ? (members as Group) : undefined;
}

/** Limits as text in the database: JSON, with amounts as decimal digits. Empty for none. */
export function limitsToText(limits: Limits | undefined): string {
  if (limits === undefined) return '';
  return JSON.stringify(limits, (_, value: unknown) => (typeof value === 'bigint' ? String(value) : value));
}

export function limitsFromText(text: string): Limits | undefined {
  if (text === '') return undefined;
  const { budgets, perEndUser, ...limits } = JSON.parse(text) as Omit<Limits, 'budgets' | 'perEndUser'> &
    Readonly<Partial<Record<'budgets' | 'perEndUser', Readonly<Record<string, string>>>>>;
  const amountsOf = (texts: Readonly<Record<string, string>>): Budgets =>
    Object.fromEntries(Object.entries(texts).map(([period, amount]) => [period, BigInt(amount)]));
  return {
    ...limits,
    ...(budgets && { budgets: amountsOf(budgets) }),
    ...(perEndUser && { perEndUser: amountsOf(perEndUser) }),
  };
}
