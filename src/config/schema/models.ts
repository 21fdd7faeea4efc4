import { z } from 'zod';
import { formatCredits, type Price, parseCredits } from '../../core/billing/money.ts';
import type { SettingPath } from '../reader/setting-path.ts';
import { group, oneOf, text, wholeNumber } from './setting.ts';

/** One credit a token. It keeps every cost far inside the range of an amount. */
const priceMax = parseCredits('1000000');
const amountAllowed = `credits per million tokens, from 0 to ${formatCredits(priceMax)} in plain digits with at most 9 decimals, such as 0.15`;
/** What a chat model takes where nothing is written. */
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

/** Whether a path is that of an amount of credits, which is read from its digits and never as a float. */
export function isAmount(path: SettingPath): boolean {
  return path.length === 4 && path[0] === 'models' && path[2] === 'price';
}

const price = group({
  input: amount.describe('Credits per million tokens of the prompt.'),
  output: amount.describe('Credits per million tokens of the answer.'),
})
  .transform(({ input, output }): Price => ({ inputPerMillion: input, outputPerMillion: output }))
  .describe('What the tokens cost. It must be written; for a free model write 0 for both.');

const name = text(
  /^\S{1,256}$/u,
  'a name without spaces, at most 256 characters (in quotes where it is all digits)',
);
const words = text(/\S/, 'a text that is not blank (in quotes where it is all digits)');

const engineAllowed = 'the name of an engine, or a list of at least one';
const voicesAllowed = 'a map of at least one public voice name to a voice of the engine';

const common = {
  id: name.describe(
    'The id that clients send as `model`. Any name will do, also one that clients have built in, such as `tts-1`.',
  ),
  engine: z
    .union([name, z.array(name).min(1, { error: engineAllowed })], { error: engineAllowed })
    .describe(
      'The name of an engine under `engines`, or a list of those that serve the same model: the next is asked where one cannot be had.',
    ),
  balance: oneOf(['in-order', 'round-robin'])
    .optional()
    .describe(
      'Which of several engines is asked first: always the first one listed, or the next one each time. Default: in-order.',
    ),
  created: z.iso
    .date({ error: 'a date such as 2026-01-31' })
    .optional()
    .describe('The date (UTC) that the catalog shows for the model. Default: none.'),
  ownedBy: words.default('parley').describe('Who the catalog says the model belongs to.'),
  description: words.optional().describe('A sentence about the model for the catalog. Default: none.'),
};

const speechModel = group({
  type: z.literal('speech').describe('A model that speaks.'),
  ...common,
  defaultVoice: name
    .optional()
    .describe(
      'The voice where a request names none. Default: the first of `voices`; without them, that of the engine.',
    ),
  voices: z
    .record(name, name, { error: voicesAllowed })
    .refine((voices) => Object.keys(voices).length > 0, { error: voicesAllowed })
    .optional()
    .describe(
      "The voices that clients may name, each with the engine's voice that speaks. Default: the engine's voices by their own names.",
    ),
})
  .transform((model) => ({
    ...model,
    defaultVoice: model.defaultVoice ?? Object.keys(model.voices ?? {})[0],
  }))
  .describe('A model for speech. It costs fair-use units, never credits.');

const transcriptionModel = group({
  type: z.literal('transcription').describe('The model that transcribes. There is at most one.'),
  ...common,
}).describe('The model for transcription. It costs fair-use units, never credits.');

const chatModel = group({
  type: z.literal('chat').describe('A model that chats.'),
  ...common,
  price,
  contextTokens: wholeNumber(1, 10_000_000)
    .default(contextTokensDefault)
    .describe('Tokens that prompt and answer may have together.'),
  outputTokensMax: wholeNumber(1, 10_000_000)
    .optional()
    .describe(
      'Tokens that one answer may have, at most `contextTokens`. Default: the same as `contextTokens`.',
    ),
})
  .transform((model) => ({ ...model, outputTokensMax: model.outputTokensMax ?? model.contextTokens }))
  .describe('A model for chat, paid from prepaid credits.');

const modelTypes = ['speech', 'transcription', 'chat'] as const;
const model = z.discriminatedUnion('type', [speechModel, transcriptionModel, chatModel], {
  error: (issue) =>
    issue.code === 'invalid_union' ? `one of ${modelTypes.join(', ')}` : 'a map of settings',
});

/** A modest price for the small chat: whoever tries it sees the metering at work. */
export const defaultModels: z.input<typeof model>[] = [
  { id: 'flite', type: 'speech', engine: 'builtin' },
  { id: 'pocketsphinx', type: 'transcription', engine: 'builtin' },
  { id: 'eliza', type: 'chat', engine: 'builtin', price: { input: 0.1, output: 0.4 } },
];

export const models = z
  .array(model, { error: 'a list of models' })
  .prefault(defaultModels)
  .describe('The catalog: every model that clients can call. At most one is for transcription.');
