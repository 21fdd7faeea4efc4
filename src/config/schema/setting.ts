/**
 * The parts that settings are made of. The error text of each says what is allowed, to stand after "must be"; a finding
 * puts the rest of the sentence around it.
 */
import { z } from 'zod';

/** A whole number within bounds, both included. */
export function wholeNumber(min: number, max: number) {
  const error = `a whole number from ${min} to ${max}`;
  return z.int({ error }).min(min, { error }).max(max, { error });
}

/** A text that matches a pattern. `allowed` says in words what the pattern takes. */
export function text(pattern: RegExp, allowed: string) {
  return z.string({ error: allowed }).regex(pattern, { error: allowed });
}

/** One of a few words. */
export function oneOf<const Words extends readonly [string, ...string[]]>(words: Words) {
  return z.enum(words, { error: `one of ${words.join(', ')}` });
}

/** A map of settings with fixed names. Any other name is refused. */
export function group<Shape extends z.core.$ZodLooseShape>(shape: Shape) {
  return z.strictObject(shape, { error: 'a map of settings' });
}
