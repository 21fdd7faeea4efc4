import * as z from 'zod';
import { fallbackReasons, modelTypes } from '../../core/entities/model.ts';
import { formatCredits, type Price, parseCredits } from '../../core/values/money.ts';
import { filledList, group, oneOf, optional, text, wholeNumber, yesOrNo } from './setting-types.ts';

/** One credit per token, which keeps every cost far inside the range of an amount. */
const priceMax = parseCredits('1000000');
const amountAllowed = `credits per million tokens, from 0 to ${formatCredits(priceMax)} in plain digits with at most 9 decimals, such as 0.15`;
/** Context of models whose engine does not report one. */
export const contextTokensDefault = 4096;

const amountDigits = /^\d{1,7}(\.\d{1,9})?$/;

const amount = z
  .union(
    [z.number({ error: amountAllowed }).min(0, { error: amountAllowed }), text(amountDigits, amountAllowed)],
    { error: amountAllowed },
  )
  .transform((value, context) => {
    const written = String(value);
    const credits = amountDigits.test(written) ? parseCredits(written) : undefined;
    if (credits !== undefined && credits <= priceMax) return credits;
    context.issues.push({ code: 'custom', message: amountAllowed, input: value });
    return z.NEVER;
  });

/** Whether the setting is an amount of credits: read from its digits, never as a float. */
export function isAmount(path: readonly (string | number)[]): boolean {
  return path.length === 4 && path[0] === 'models' && path[2] === 'price';
}

const price = group({
  input: amount,
  output: amount,
  cachedInput: optional(amount),
  cacheWrite: optional(amount),
}).transform(
  ({ input, output, cachedInput, cacheWrite }): Price => ({
    inputPerMillion: input,
    outputPerMillion: output,
    cachedInputPerMillion: cachedInput,
    cacheWritePerMillion: cacheWrite,
  }),
);

export const name = text(
  /^\S{1,256}$/u,
  'a name without spaces, at most 256 characters (in quotes if it is all digits)',
);
const words = text(/\S/, 'a text that is not blank (in quotes if it is all digits)');

const engineAllowed = 'the name of an engine, or a list of at least one';
const voicesAllowed = 'a map of at least one public voice name to a voice of the engine';

const fallbackAllowed = 'a list of at least one chat model';
const reasonAllowed = `one of ${fallbackReasons.join(', ')}`;
const reasonsAllowed = `a list of at least one of ${fallbackReasons.join(', ')}`;

const common = {
  id: name,
  engine: z.union([name, filledList(name, engineAllowed)], { error: engineAllowed }),
  model: optional(name),
  balance: optional(oneOf(['in-order', 'sticky'])),
  created: z.iso.date({ error: 'a date such as 2026-01-31' }).optional(),
  ownedBy: words.default('parley'),
  disabled: optional(yesOrNo()),
  description: optional(words),
};

const speechModel = group({
  type: z.literal('speech'),
  ...common,
  defaultVoice: optional(name),
  voices: z
    .record(name, name, { error: voicesAllowed })
    .refine((voices) => Object.keys(voices).length > 0, { error: voicesAllowed })
    .optional(),
}).transform((model) => ({
  ...model,
  defaultVoice: model.defaultVoice ?? Object.keys(model.voices ?? {})[0],
}));

const transcriptionModel = group({
  type: z.literal('transcription'),
  ...common,
  liveOnly: optional(yesOrNo()),
});

const chatModel = group({
  type: z.literal('chat'),
  ...common,
  price,
  thinking: optional(oneOf(['effort', 'parameter', 'none'])),
  systemMessages: optional(oneOf(['as-sent', 'one-first'])),
  fallback: optional(filledList(name, fallbackAllowed)),
  fallbackOn: optional(filledList(z.literal(fallbackReasons, { error: reasonAllowed }), reasonsAllowed)),
  fallbackPrice: optional(oneOf(['answering', 'first'])),
  contextTokens: optional(wholeNumber(1, 10_000_000)),
  outputTokensMax: optional(wholeNumber(1, 10_000_000)),
  imageTokens: optional(wholeNumber(1, 10_000_000)),
});

const model = z.discriminatedUnion('type', [speechModel, transcriptionModel, chatModel], {
  error: (issue) =>
    issue.code === 'invalid_union' ? `one of ${modelTypes.join(', ')}` : 'a map of settings',
});

/**
 * The chat has a small price, so that people who try it see the metering.
 *
 * @param recogniser the id of the transcription model
 */
export function defaultModels(recogniser = 'pocketsphinx'): z.input<typeof model>[] {
  return [
    { id: 'flite', type: 'speech', engine: 'builtin' },
    { id: recogniser, type: 'transcription', engine: 'builtin' },
    {
      id: 'eliza',
      type: 'chat',
      engine: 'builtin',
      price: { input: 0.1, output: 0.4 },
      contextTokens: contextTokensDefault,
      outputTokensMax: contextTokensDefault,
    },
  ];
}

export const models = z.array(model, { error: 'a list of models' }).prefault(defaultModels());
