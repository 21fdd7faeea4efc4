/** Checks of the fields that administrators send. */
import { type Timestamp, timestampMs } from '@bufbuild/protobuf/wkt';
import { bounds, hasLength, isWithin } from '../values/bounds.ts';
import { ParleyError } from '../values/errors.ts';
import { formatCredits, type NanoCredits, nanoCredits, parseCredits } from '../values/money.ts';
import { invalid } from '../values/parameters.ts';

/** The text without blanks around it. */
export function checkText(
  param: string,
  text: string | undefined,
  bound: typeof bounds.name | typeof bounds.reason = bounds.name,
): string {
  const sent = required(param, text);
  const trimmed = sent.trim();
  if (trimmed === '' || !hasLength(sent, bound)) {
    throw invalid(param, `\`${param}\` must have 1 to ${bound.maxLength} characters.`);
  }
  return trimmed;
}

export function checkScopes<S extends string>(wanted: readonly string[], scopes: readonly S[]): readonly S[] {
  const unknown = wanted.find((name) => !scopes.some((scope) => scope === name));
  if (unknown !== undefined) throw invalid('scopes', `\`scopes\` takes ${scopes.join(', ')}.`);
  return scopes.filter((scope) => wanted.includes(scope));
}

export function checkAmount(text: string | undefined): NanoCredits {
  return parseCredits(required('amount', text), 'amount');
}

export function checkOverlap(seconds = 0): number {
  const { overlapSeconds } = bounds;
  if (!isWithin(seconds, overlapSeconds)) {
    throw invalid('overlap_seconds', `\`overlap_seconds\` must be from 0 to ${overlapSeconds.maximum}.`);
  }
  return seconds;
}

export function checkFuture(param: string, time: Timestamp | undefined, nowMs: number): number | undefined {
  const atMs = time && timestampMs(time);
  if (atMs !== undefined && atMs <= nowMs) throw invalid(param, `\`${param}\` must be in the future.`);
  return atMs;
}

export function required<T>(param: string, value: T | undefined): T {
  if (value === undefined) throw invalid(param, `Send \`${param}\`.`);
  return value;
}

/** Refuses an adjustment that would take more than the balance less the holds. */
export function tooMuchTaken({ balance, held }: { balance: NanoCredits; held: NanoCredits }): ParleyError {
  const whole = `The balance is ${formatCredits(balance)} credits`;
  const free = formatCredits(nanoCredits(balance - held));
  const message =
    held === 0n
      ? `${whole}: no more than that can be taken.`
      : `${whole}, of which running requests hold ${formatCredits(held)}: no more than ${free} can be taken.`;
  return new ParleyError('insufficient_credits', { message, advice: undefined, param: 'amount' });
}

export function nameTaken(name: string): ParleyError {
  return invalid('name', `There is already an account named \`${name}\`. Choose another name.`);
}
