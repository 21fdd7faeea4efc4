/**
 * Client messages for failures of an upstream, shared by the engines that call one. The upstream's own words stay in
 * the log.
 */
export const upstreamMessages = {
  unreachable: 'The engine behind this model cannot be reached. Try again.',
  tooSlow: 'The engine behind this model took too long. Try again, or ask for less.',
  tooManyRequests: 'The engine behind this model has had too many requests. Wait, then try again.',
  busy: 'The engine behind this model is busy. Wait, then try again.',
  keyRefused: forOperator('does not accept the key of this server'),
  noCredits: forOperator('has no credits left for this server'),
  unknownModel: forOperator('does not know the model name that this server uses for it'),
} as const;

/** The message of a failure that a client cannot fix. */
export function forOperator(failure: string): string {
  return `The engine behind this model ${failure}. Only the operator of this server can fix that.`;
}
