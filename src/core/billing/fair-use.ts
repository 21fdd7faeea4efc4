import type { Entitlement } from '../entities/subscription.ts';
import { ParleyError } from '../values/errors.ts';

/** The monthly allowance (UTC) of an account, shared by speech and transcription. */
export interface FairUseRules {
  readonly planUnitsPerMonth: number;
  readonly trialUnitsPerMonth: number;
  readonly speechUnitsPerCharacter: number;
  readonly transcriptionUnitsPerSecond: number;
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

export interface FairUseRefusal {
  /** Units that the request needs, as far as its length is known. */
  readonly units: number;
  /** The month's allowance. */
  readonly limitUnits: number;
  /** Units of the month that other requests spent or reserve. */
  readonly takenUnits: number;
  readonly resetsAtMs: number;
}

/** The error `fair_use_limit_reached`: what is left, what was needed, and when the limit resets. */
export function fairUseError({ units, limitUnits, takenUnits, resetsAtMs }: FairUseRefusal): ParleyError {
  const left = Math.max(limitUnits - takenUnits, 0);
  const problem = `This request needs ${units} fair-use units, and ${left} of this month's ${limitUnits} are left.`;
  const smaller = left === 0 ? '' : ' A smaller request, of at most the units that are left, still passes.';
  return new ParleyError('fair_use_limit_reached', {
    message: `${problem}${smaller} The limit resets at ${new Date(resetsAtMs).toISOString()}.`,
  });
}
