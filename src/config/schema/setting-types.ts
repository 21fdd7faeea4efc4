/**
 * The types of settings. Each error text describes the allowed values and completes the sentence "`x` must be …". For
 * an unknown name in a group, it lists the allowed names.
 */
import * as z from 'zod';
import { readNetwork } from '../../core/values/addresses.ts';

export function wholeNumber(min: number, max: number) {
  const error = `a whole number from ${min} to ${max}`;
  return z.int({ error }).min(min, { error }).max(max, { error });
}

export const yesOrNo = z.boolean({ error: 'true or false' });

/** A text that matches a pattern. `allowed` describes the pattern in words. */
export function text(pattern: RegExp, allowed: string) {
  return z.string({ error: allowed }).regex(pattern, { error: allowed });
}

/** The path of a file or folder: not blank, and without the zero byte. */
export function path(allowed = 'the path of a file (in quotes if it is all digits)') {
  return text(/^[^\0]*\S[^\0]*$/, allowed);
}

const networkAllowed = 'an address or a network such as 10.0.0.0/8';

/** An IP address, or a network of them in CIDR. */
export const network = z
  .string({ error: networkAllowed })
  .refine((text) => readNetwork(text) !== undefined, { error: networkAllowed });

export function oneOf<const Words extends readonly [string, ...string[]]>(words: Words) {
  return z.enum(words, { error: `one of ${words.join(', ')}` });
}

/** A map of settings with fixed names. Refuses any other name. */
export function group<Shape extends z.core.$ZodLooseShape>(shape: Shape) {
  const names = Object.keys(shape).join(', ');
  return z.strictObject(shape, {
    error: ({ code }) => (code === 'unrecognized_keys' ? names : 'a map of settings'),
  });
}

/** The settings that an engine of every kind has. */
export function engineOf<Kind extends string>(kind: Kind) {
  return {
    kind: z
      .literal(kind)
      .describe('The kind of engine: anthropic, builtin, local, openai, process or remote.'),
    disabled: yesOrNo
      .optional()
      .describe(
        'Whether the engine serves nothing for now. Models with another engine use that. Default: false.',
      ),
  };
}
