import type { Entitlement } from '../access/entitlement.ts';

/** The monthly allowance (UTC) of an account, shared by speech and transcription. */
export interface FairUseRules {
  readonly planUnitsPerMonth: number;
  readonly trialUnitsPerMonth: number;
  readonly speechUnitsPerCharacter: number;
  readonly transcriptionUnitsPerSecond: number;
}

/** A UTC month, such as `2026-11`. */
export type Month = `${number}-${string}`;

export function monthOf(nowMs: number): Month {
  const date = new Date(nowMs);
  return `${date.getUTCFullYear()}-${String(date.getUTCMonth() + 1).padStart(2, '0')}`;
}

/** The first moment of the next month. */
export function nextMonthMs(nowMs: number): number {
  const date = new Date(nowMs);
  return Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + 1, 1);
}

/** The units that an account may spend in a month: 0 without a plan or trial. */
export function unitsPerMonth(rules: FairUseRules, entitlement: Entitlement): number {
  if (entitlement.state === 'active') return rules.planUnitsPerMonth;
  return entitlement.state === 'trial' ? rules.trialUnitsPerMonth : 0;
}

/** Units of a recording. A started second counts in full. */
export function transcriptionUnits(rules: FairUseRules, durationMs: number): number {
  return Math.ceil(durationMs / 1000) * rules.transcriptionUnitsPerSecond;
}

export function speechUnits(rules: FairUseRules, characters: number): number {
  return characters * rules.speechUnitsPerCharacter;
}
