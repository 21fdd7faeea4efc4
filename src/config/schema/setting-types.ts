/**
 * The types of settings. Each error text describes the allowed values and completes the sentence "`x` must be …". For
 * an unknown name in a group, it lists the allowed names. What settings mean is in parley.example.yaml.
 */
import * as z from 'zod';
import { readNetwork } from '../../core/values/addresses.ts';

export const { optional } = z;

type Defaulted<T extends z.ZodType, D> = [D] extends [undefined] ? T : z.ZodDefault<T>;

function defaulted<T extends z.ZodType, D>(type: T, value: D): Defaulted<T, D> {
  return (value === undefined ? type : type.default(value as never)) as Defaulted<T, D>;
}

export function wholeNumber<D extends number | undefined = undefined>(
  min: number,
  max: number,
  byDefault?: D,
) {
  const error = `a whole number from ${min} to ${max}`;
  return defaulted(z.int({ error }).min(min, { error }).max(max, { error }), byDefault as D);
}

export function yesOrNo<D extends boolean | undefined = undefined>(byDefault?: D) {
  return defaulted(z.boolean({ error: 'true or false' }), byDefault as D);
}

/** A text of a form, which `allowed` describes in words. */
export function text<D extends string | undefined = undefined>(
  form: RegExp | ((text: string) => boolean),
  allowed: string,
  byDefault?: D,
) {
  const [type, error] = [z.string({ error: allowed }), { error: allowed }];
  const checked = form instanceof RegExp ? type.regex(form, error) : type.refine(form, error);
  return defaulted(checked, byDefault as D);
}

/** A list, by default an empty one. `allowed` describes it in words. */
export function list<Item extends z.ZodType>(item: Item, allowed: string, max?: number) {
  const type = z.array(item, { error: allowed });
  const bounded = max === undefined ? type : type.max(max, { error: `${allowed}, at most ${max}` });
  return bounded.default([] as never);
}

/** A list that is not empty. */
export function filledList<Item extends z.ZodType>(item: Item, allowed: string) {
  return z.array(item, { error: allowed }).min(1, { error: allowed });
}

/** The path of a file or folder: not blank, and without the zero byte. */
export function path(allowed = 'the path of a file (in quotes if it is all digits)') {
  return text(/^[^\0]*\S[^\0]*$/, allowed);
}

/** An IP address, or a network of them in CIDR. */
export const network = text(
  (written) => readNetwork(written) !== undefined,
  'an address or a network such as 10.0.0.0/8',
);

/** A map of names to texts, by default an empty one. `allowed` describes it in words. */
export function map<Name extends z.core.$ZodRecordKey, Value extends z.ZodType>(
  name: Name,
  value: Value,
  allowed: string,
) {
  return z.record(name, value, { error: allowed }).default({} as never);
}

export function oneOf<
  const Words extends readonly [string, ...string[]],
  D extends Words[number] | undefined = undefined,
>(words: Words, byDefault?: D) {
  return defaulted(z.enum(words, { error: `one of ${words.join(', ')}` }), byDefault as D);
}

/** A map of settings with fixed names. Refuses any other name. */
export function group<Shape extends z.core.$ZodLooseShape>(shape: Shape) {
  const names = Object.keys(shape).join(', ');
  return z.strictObject(shape, {
    error: ({ code }) => (code === 'unrecognized_keys' ? names : 'a map of settings'),
  });
}

/** A group of which every setting has a default. */
export function section<Shape extends z.core.$ZodLooseShape>(shape: Shape) {
  return group(shape).prefault({} as never);
}

/** The settings that an engine of every kind has. */
export function engineOf<Kind extends string>(kind: Kind) {
  return { kind: z.literal(kind), disabled: optional(yesOrNo()) };
}
