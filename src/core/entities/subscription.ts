/** Entitlement to speech and transcription by the account's subscription at a given time. Credits do not enable them. */

/** 14 days: the trial length of the contract. */
export const trialMs = 14 * 24 * 60 * 60 * 1000;

export interface Period {
  readonly startsAtMs: number;
  readonly endsAtMs: number;
}

/** The account's only trial and its latest plan period, if any. */
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

/** Whether speech and transcription may be used. */
export function isEntitled(entitlement: Entitlement): boolean {
  return entitlement.state === 'trial' || entitlement.state === 'active';
}

function covers(period: Period, nowMs: number): boolean {
  return period.startsAtMs <= nowMs && nowMs < period.endsAtMs;
}
