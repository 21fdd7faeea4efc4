import type { Entitlement } from '../entities/account.ts';

/** The monthly allowance (UTC) of an account, shared by speech and transcription. */
export interface FairUseRules {
  readonly planUnitsPerMonth: number;
  readonly trialUnitsPerMonth: number;
  readonly speechUnitsPerCharacter: number;
  readonly transcriptionUnitsPerSecond: number;
}

/** The units that an account may spend per month: 0 without a plan or trial. */
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
