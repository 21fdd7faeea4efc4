/**
 * The hold of a chat request: the most that its prompt and its answer can cost. If the account cannot afford that, the prompt is
 * counted instead of bounded; if that is still too much, the answer is limited to what is affordable.
 */

import { toJsonString } from '@bufbuild/protobuf';
import {
  type ChatCompletionParams,
  ChatCompletionParamsSchema,
  ResponseFormatSchema,
} from '../../../gen/parley/chat/v1/chat_pb.ts';
import { promptBytes, promptText } from '../entities/chat-output.ts';
import type { ChatModel } from '../entities/model.ts';
import type { Affordable } from '../limits/affordable.ts';
import { contextLengthExceeded } from '../values/errors.ts';
import { cost, highestPrice, type NanoCredits, type Price, tokensPerPrice } from '../values/money.ts';
import { andThen, type Soon } from '../values/soon.ts';
import { leastLimit } from './output-limit.ts';
import { referencesOf, withoutImages } from './references.ts';

/** Tokens that a model's template may add to a message, and to start the answer. */
const templateTokensPerMessage = 8;
const templateTokens = 16;
/** Margin for models whose tokenizer counts more than ours. */
const countMarginPercent = 25;

/** A limit below this is not set because other requests have used most of the minute. */
const usefulTokens = 256;

/** Share of the context. A longer prompt is counted to see how much room it leaves. */
const smallPromptShare = 8;

export interface HoldPlan {
  readonly amount: NanoCredits;
  /** The most tokens of each choice. The engine must send exactly this limit. */
  readonly outputLimit: number;
  /** The most tokens of the prompt and all choices. */
  readonly tokens: number;
}

/**
 * @throws `insufficient_credits` or `budget_exceeded` if `affordable` does not cover the prompt and the shortest answer of each choice,
 * `rate_limit_exceeded` if the minute has not enough tokens left, or `invalid_messages` if the prompt cannot fit into the model's context
 */
export function planHold(facts: PromptFacts, affordable: Affordable): Soon<HoldPlan> {
  // Do not count a long prompt if even the shortest one is not affordable.
  const least = planFor(facts, 1, leastOf(facts, facts.model.outputTokensMax));
  if (least.amount > affordable.credits) throw affordable.creditsError(least.amount);
  return andThen(mayBeTooLong(facts) ? refuseTooLong(facts) : undefined, () =>
    andThen(longestAnswer(facts), (outputTokens) => {
      const whole = planFor(facts, promptBound(facts, textBound(facts)), outputTokens);
      return fits(whole, affordable) ? whole : planCounted(facts, affordable, outputTokens);
    }),
  );
}

/** @param outputTokens of the longest answer */
function leastOf({ params, requestedLimit }: PromptFacts, outputTokens: number): number {
  return leastLimit(params, Math.min(requestedLimit, outputTokens));
}

function planFor({ price, params }: PromptFacts, promptTokens: number, outputLimit: number): HoldPlan {
  const completionTokens = outputLimit * (params.n ?? 1);
  const amount = cost(highestPrice(price), { promptTokens, completionTokens });
  return { amount, outputLimit, tokens: promptTokens + completionTokens };
}

function fits({ amount, tokens }: HoldPlan, affordable: Affordable): boolean {
  return amount <= affordable.credits && tokens <= (affordable.tokens?.left ?? Infinity);
}

/** The least of the client's limit, the model's maximum, and the room in its context. */
function longestAnswer(facts: PromptFacts): Soon<number> {
  const { requestedLimit } = facts;
  const { outputTokensMax } = facts.model;
  if (requestedLimit <= outputTokensMax) return requestedLimit;
  return andThen(roomForAnswer(facts), (room) => Math.min(outputTokensMax, room));
}

/** Counts the prompt, and limits the answer if that is still too much. */
async function planCounted(
  facts: PromptFacts,
  affordable: Affordable,
  outputTokens: number,
): Promise<HoldPlan> {
  const { price, params } = facts;
  const choices = params.n ?? 1;
  const byBytes = promptBound(facts, textBound(facts));
  const promptTokens = Math.min(byBytes, promptBound(facts, withMargin(await facts.countRequest(), params)));
  const counted = planFor(facts, promptTokens, outputTokens);
  if (fits(counted, affordable)) return counted;
  const byCredits =
    counted.amount <= affordable.credits
      ? outputTokens
      : affordableTokens(highestPrice(price), promptTokens, choices, affordable.credits);
  const least = leastOf(facts, outputTokens);
  if (byCredits < least) throw affordable.creditsError(planFor(facts, promptTokens, least).amount);
  const plan = planFor(facts, promptTokens, byCredits);
  return planFor(facts, promptTokens, limitToMinute(plan, { choices, least }, affordable));
}

/**
 * A minute that has too few tokens left refuses a request that a new minute could serve, as waiting is better than a
 * short answer. Only an answer that no minute covers is limited to the rest.
 */
function limitToMinute(
  { tokens, outputLimit }: HoldPlan,
  { choices, least }: { readonly choices: number; readonly least: number },
  { tokens: minute, tokensError }: Affordable,
): number {
  if (minute === undefined || tokens <= minute.left) return outputLimit;
  const promptTokens = tokens - outputLimit * choices;
  const roomOf = (all: number) => Math.floor((all - promptTokens) / choices);
  const room = roomOf(minute.left);
  const wanted = Math.min(usefulTokens, roomOf(minute.limit));
  if (tokens <= minute.limit || room < Math.max(least, wanted)) throw tokensError(tokens);
  return room;
}

/** Only if the engine counts as Parley does. For other engines the count is a guess. */
function mayBeTooLong({ model, requestBytes }: PromptFacts): boolean {
  return model.engine.tokenizer === 'o200k' && requestBytes > model.contextTokens;
}

async function refuseTooLong(facts: PromptFacts): Promise<void> {
  const { model } = facts;
  const tokens = await facts.countMessages();
  if (tokens <= model.contextTokens) return;
  throw contextLengthExceeded({ prompt: tokens, maximum: model.contextTokens });
}

/**
 * Tokens of the context that the prompt leaves. Some servers refuse a limit above that, so this errs on the low side: a
 * prompt close to the context gets half of the remaining tokens by its count.
 */
function roomForAnswer(facts: PromptFacts): Soon<number> {
  const { params } = facts;
  const refers = facts.references().length > 0;
  const { contextTokens, outputTokensMax } = facts.model;
  // Uses the bytes of the text, not of the request, so that the limit is the same on every wire.
  const bytes = facts.textBytes() + templateBound(params);
  const afterBytes = contextTokens - bytes;
  const isSmall = afterBytes >= outputTokensMax || bytes * smallPromptShare <= contextTokens;
  if (!refers && isSmall) return Math.max(1, afterBytes);
  return facts.countRoom().then((tokens) => {
    const half = Math.floor((contextTokens - tokens) / 2);
    return Math.max(1, half, refers ? 1 : contextTokens - withMargin(tokens, params));
  });
}

/** Bounds the prompt. One that refers to more than images can be as long as the model's context. @param tokens those of its text */
function promptBound({ model, references }: PromptFacts, tokens: number): number {
  return references().reduce(
    (sum, { tokens: more }) => Math.min(model.contextTokens, sum + more),
    Math.min(model.contextTokens, tokens),
  );
}

/** No tokenizer makes more tokens than bytes. */
function textBound({ requestBytes, references }: PromptFacts): number {
  return references().reduce((left, { bytes }) => left - bytes, requestBytes);
}

function withMargin(tokens: number, params: ChatCompletionParams): number {
  return Math.ceil((tokens * (100 + countMarginPercent)) / 100) + templateBound(params);
}

function templateBound({ messages }: ChatCompletionParams): number {
  return templateTokens + messages.length * templateTokensPerMessage;
}

/** The most tokens of each choice whose cost, together with the prompt's, is at most `available`. */
function affordableTokens(
  price: Price,
  promptTokens: number,
  choices: number,
  available: NanoCredits,
): number {
  const budget = available * tokensPerPrice - price.inputPerMillion * BigInt(promptTokens);
  if (budget < 0n) return 0;
  // A free answer is always affordable.
  if (price.outputPerMillion === 0n) return 0;
  return Number(budget / (price.outputPerMillion * BigInt(choices)));
}

/** Counts the tokens of a text, up to the context of the model. */
type CountTokens = (text: string) => Promise<number>;

interface KnownFacts {
  readonly model: ChatModel;
  /** The price that the client pays. */
  readonly price: Price;
  readonly params: ChatCompletionParams;
  /** The client's limit for each choice, which is no longer in `params`; Infinity without one. */
  readonly requestedLimit: number;
  /** Bytes of the request. No tokenizer makes more tokens than bytes. */
  readonly requestBytes: number;
}

export type PromptFacts = ReturnType<typeof promptFacts>;

/**
 * Facts about a prompt for its hold, for all attempts to hold credits. Most requests need few of them, so each is found at its first
 * use.
 */
export function promptFacts(known: KnownFacts, count: CountTokens) {
  const { params, model } = known;
  const textBytes = once(() => promptBytes(params) + Buffer.byteLength(formText(params)));
  const references = once(() => referencesOf(params, model.imageTokens));
  const countMessages = once(() => count(promptText({ ...params, tools: [] })));
  return {
    ...known,
    /** Bytes of the prompt's text, its tools and the form of its answer. */
    textBytes,
    /** Content whose tokens cannot be counted here: images, and content of unknown length. */
    references,
    /** Counts the tokens of the whole request, but those of its images. For a prompt whose bound by bytes is not affordable. */
    countRequest: once(() => {
      const texts = references().length === 0 ? params : withoutImages(params);
      return count(toJsonString(ChatCompletionParamsSchema, texts));
    }),
    /** Upstreams shorten tools in their own ways, so only the messages tell that a prompt is too long. */
    countMessages,
    /** Counts all that takes room in the context. For a prompt that may not leave room for the longest answer. */
    countRoom: once(async () => {
      const definitions = promptText({ ...params, messages: [] }) + formText(params);
      if (definitions === '') return countMessages();
      const [text, more] = await Promise.all([countMessages(), count(definitions)]);
      return text + more;
    }),
  };
}

function once<T>(find: () => T): () => T {
  let found: { readonly value: T } | undefined;
  return () => {
    found ??= { value: find() };
    return found.value;
  };
}

/** The form of the answer, and functions in their older form, as servers show them to the model. */
function formText({ responseFormat, other }: ChatCompletionParams): string {
  const form = responseFormat ? toJsonString(ResponseFormatSchema, responseFormat) : '';
  return other?.['functions'] ? form + JSON.stringify(other['functions']) : form;
}
