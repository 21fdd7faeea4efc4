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
  input: amount.describe('Credits per million tokens of the prompt, with at most 9 decimals.'),
  output: amount.describe('Credits per million tokens of the completion, with at most 9 decimals.'),
  cachedInput: optional(amount).describe(
    'Credits per million tokens of the prompt that the upstream reads from its cache and reports. Default: `input`.',
  ),
  cacheWrite: optional(amount).describe(
    'Credits per million tokens of the prompt that the upstream writes to its cache and reports. Default: `input`.',
  ),
})
  .transform(
    ({ input, output, cachedInput, cacheWrite }): Price => ({
      inputPerMillion: input,
      outputPerMillion: output,
      cachedInputPerMillion: cachedInput,
      cacheWritePerMillion: cacheWrite,
    }),
  )
  .describe('The price of tokens. Every chat model must have one; a free model has {input: 0, output: 0}.');

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
  id: name.describe('The id that clients send as `model`. You choose it.'),
  engine: z
    .union([name, filledList(name, engineAllowed)], { error: engineAllowed })
    .describe(
      'The name of an engine, or a list of engines that serve the same model, such as [gpu-a, gpu-b]. If one is unavailable and cannot have begun the request, the next one is tried.',
    ),
  model: optional(name).describe(
    'For an engine of the kind local: the model that it runs, as `parley models list` names it. Default: `id`.',
  ),
  balance: optional(oneOf(['in-order', 'sticky'])).describe(
    'Which of several engines is tried first: always the first one (in-order), or the one of the account, which finds earlier prompts in its cache, unless it works on more than its share of the requests (sticky). Default: in-order.',
  ),
  created: z.iso
    .date({ error: 'a date such as 2026-01-31' })
    .optional()
    .describe('The creation date (UTC) in the catalog. Default: when the server starts.'),
  ownedBy: words.default('parley').describe('The owner in the catalog.'),
  disabled: optional(yesOrNo()).describe('Whether nobody can call the model for now. Default: false.'),
  description: optional(words).describe('A description for the catalog. Default: none.'),
};

const speechModel = group({
  type: z.literal('speech').describe('The type of model: speech, transcription or chat.'),
  ...common,
  defaultVoice: optional(name).describe(
    'The voice for requests that name none. Default: the first of `voices`, else the default of the engine.',
  ),
  voices: z
    .record(name, name, { error: voicesAllowed })
    .refine((voices) => Object.keys(voices).length > 0, { error: voicesAllowed })
    .optional()
    .describe(
      "The voices that clients may name, each with a voice of the engine. Default: the engine's voices under their own names.",
    ),
})
  .transform((model) => ({
    ...model,
    defaultVoice: model.defaultVoice ?? Object.keys(model.voices ?? {})[0],
  }))
  .describe('A speech model. It costs fair-use units, never credits.');

const transcriptionModel = group({
  type: z.literal('transcription').describe('The type of model: speech, transcription or chat.'),
  ...common,
  liveOnly: optional(yesOrNo()).describe(
    'Whether it serves only live sessions, in place of the active model, which then serves uploads. GET /models does not list it. Default: false.',
  ),
}).describe(
  'The active transcription model. It serves every transcription, whatever `model` a client sends. It costs fair-use units, never credits.',
);

const chatModel = group({
  type: z.literal('chat').describe('The type of model: speech, transcription or chat.'),
  ...common,
  price,
  thinking: optional(oneOf(['effort', 'parameter', 'none'])).describe(
    'How requests for thinking in POST /messages reach the model: the effort as `reasoning_effort` (effort), that and `thinking` as it is, for upstreams with that parameter (parameter), or not at all, for models that refuse both (none). Default: parameter for engines of the kind anthropic, else effort.',
  ),
  systemMessages: optional(oneOf(['as-sent', 'one-first'])).describe(
    'How system and developer messages reach the model: in the number and order in which they are sent (as-sent), or joined into one at the beginning (one-first), for servers that refuse others, as DeepSeek and many chat templates of vLLM do. Default: one-first for POST /responses and POST /messages, as-sent for POST /chat/completions. `developer` becomes `system` unless the server is OpenAI, Azure or another Parley.',
  ),
  fallback: optional(filledList(name, fallbackAllowed)).describe(
    'Other chat models of this catalog, such as [small-local], which are tried in this order if this one fails before any output. The client gets the answer and its `model`, and pays for the model that answers. A key gets only models that it may call. Default: none.',
  ),
  fallbackOn: optional(
    filledList(z.literal(fallbackReasons, { error: reasonAllowed }), reasonsAllowed),
  ).describe(
    'The failures after which the models of `fallback` are tried: no connection, or one that closes without an answer (connect); no answer in time (timeout); these statuses of the upstream (429, 5xx, 402); a prompt that is too long for the model (context). After timeout and 5xx the upstream may have run, and charge you for it. Default: [connect, 429, 402].',
  ),
  fallbackPrice: optional(oneOf(['answering', 'first'])).describe(
    'The price that the client pays if a model of `fallback` answers: that of the model that answers (answering), or that of this model (first). Default: answering.',
  ),
  contextTokens: optional(wholeNumber(1, 10_000_000)).describe(
    'Tokens of prompt and completion together. Default: for an openai or remote engine, what its server reports of the model (vLLM, llama.cpp, Ollama and Parley do; without it the model is unavailable); for other engines, 4096, or less if a local model has less.',
  ),
  outputTokensMax: optional(wholeNumber(1, 10_000_000)).describe(
    'Tokens of one completion, at most `contextTokens`. Default: `contextTokens`.',
  ),
  imageTokens: optional(wholeNumber(1, 10_000_000)).describe(
    'Tokens that are held for an image of unknown size (one behind a URL, or in another format than PNG, JPEG and WebP), and at least held for any other, whose size tells how many it may have. Default: 16384 for those of unknown size.',
  ),
}).describe('A chat model. It costs prepaid credits.');

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

export const models = z
  .array(model, { error: 'a list of models' })
  .prefault(defaultModels())
  .describe(
    'The catalog: the models that clients can call. At most one for transcription is active, and one is `liveOnly`.',
  );
