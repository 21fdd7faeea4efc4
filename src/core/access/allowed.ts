import { type Scope, scopes } from '../entities/key.ts';
import { isEntitled } from '../entities/subscription.ts';
import type { Operation } from '../entities/usage.ts';
import { ParleyError } from '../values/errors.ts';
import type { Caller } from './call.ts';

/** The plan includes speech and transcription. Chat is paid from credits and needs no plan. */
const includedInPlan: ReadonlySet<Operation> = new Set<Operation>(['speech', 'transcription']);

export function isIncludedInPlan(operation: Operation): boolean {
  return includedInPlan.has(operation);
}

/** @throws `insufficient_scope` without the operation's scope; `subscription_required` without a plan that includes it */
export function checkAllowed(caller: Caller, operation: Operation): void {
  if (isScope(operation) && !caller.scopes.includes(operation)) {
    throw new ParleyError('insufficient_scope', {
      message: `This API key does not have the scope \`${operation}\`.`,
    });
  }
  if (isIncludedInPlan(operation) && !isEntitled(caller.entitlement)) {
    throw new ParleyError('subscription_required');
  }
}

function isScope(operation: Operation): operation is Scope {
  return scopes.some((scope) => scope === operation);
}
