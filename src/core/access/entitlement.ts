/** What an account's subscription opens at a moment. Speech and transcription need it; credits never do. */

/** 14 days: the contract's trial length. */
export const trialMs = 14 * 24 * 60 * 60 * 1000;

export interface Period {
  readonly startsAtMs: number;
  readonly endsAtMs: number;
}

/** An account has had at most one trial, and its latest plan period. */
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

/** Whether speech and transcription are open. */
export function isEntitled(entitlement: Entitlement): boolean {
  return entitlement.state === 'trial' || entitlement.state === 'active';
}

function covers(period: Period, nowMs: number): boolean {
  return period.startsAtMs <= nowMs && nowMs < period.endsAtMs;
}
