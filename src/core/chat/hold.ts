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
import type { Call } from '../access/call.ts';
import { promptBytes, promptText } from '../entities/chat-output.ts';
import type { TokenCounter } from '../entities/engine.ts';
import type { ChatModel } from '../entities/model.ts';
import type { Affordable } from '../limits/affordable.ts';
import { contextLengthExceeded } from '../values/errors.ts';
import { cost, highestPrice, type NanoCredits, type Price, tokensPerPrice } from '../values/money.ts';
import type { Soon } from '../values/soon.ts';
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

/** The most that a request on a model can use. */
export interface HoldPlan {
  readonly model: ChatModel;
  /** The price that the client pays for its tokens. */
  readonly price: Price;
  /** The context of the model at that moment. */
  readonly contextTokens: number;
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
  const least = planFor(facts, 1, leastOf(facts, facts.outputTokensMax));
  if (least.amount > affordable.credits) throw affordable.creditsError(least.amount);
  return planByBytes(facts, affordable) ?? planByCount(facts, affordable);
}

/** Bounds the prompt by its bytes. Undefined if it must be counted: it may be too long for the context, the answer or `affordable`. */
function planByBytes(facts: PromptFacts, affordable: Affordable): HoldPlan | undefined {
  const outputTokens = mayBeTooLong(facts) ? undefined : longestByBytes(facts);
  if (outputTokens === undefined) return undefined;
  const plan = planFor(facts, promptBound(facts, textBound(facts)), outputTokens);
  return fits(plan, affordable) ? plan : undefined;
}

/** @param outputTokens of the longest answer */
function leastOf({ params, requestedLimit }: PromptFacts, outputTokens: number): number {
  return leastLimit(params, Math.min(requestedLimit, outputTokens));
}

function planFor(
  { model, price, highest, contextTokens, params }: PromptFacts,
  promptTokens: number,
  outputLimit: number,
): HoldPlan {
  const completionTokens = outputLimit * (params.n ?? 1);
  const amount = cost(highest, { promptTokens, completionTokens });
  return { model, price, contextTokens, amount, outputLimit, tokens: promptTokens + completionTokens };
}

function fits({ amount, tokens }: HoldPlan, affordable: Affordable): boolean {
  return amount <= affordable.credits && tokens <= (affordable.tokens?.left ?? Infinity);
}

/** Counts what the bytes of the prompt do not tell, and limits the answer if that is still too much. */
async function planByCount(facts: PromptFacts, affordable: Affordable): Promise<HoldPlan> {
  const { highest, params } = facts;
  if (mayBeTooLong(facts)) await refuseTooLong(facts);
  const outputTokens = longestByBytes(facts) ?? Math.min(facts.outputTokensMax, await countedRoom(facts));
  const byBytes = promptBound(facts, textBound(facts));
  const bounded = planFor(facts, byBytes, outputTokens);
  if (fits(bounded, affordable)) return bounded;
  const choices = params.n ?? 1;
  const byCount = promptBound(facts, withMargin(await facts.requestTokens, params));
  const promptTokens = Math.min(byBytes, byCount);
  const counted = planFor(facts, promptTokens, outputTokens);
  if (fits(counted, affordable)) return counted;
  const byCredits =
    counted.amount <= affordable.credits
      ? outputTokens
      : affordableTokens(highest, promptTokens, choices, affordable.credits);
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
function mayBeTooLong({ model, contextTokens, requestBytes }: PromptFacts): boolean {
  return model.engine.tokenizer === 'o200k' && requestBytes > contextTokens;
}

async function refuseTooLong({ messageTokens, contextTokens: maximum }: PromptFacts): Promise<void> {
  const prompt = await messageTokens;
  if (prompt > maximum) throw contextLengthExceeded({ prompt, maximum });
}

/**
 * The least of the client's limit, the model's maximum, and the room that the bytes of the prompt leave in the context. Undefined if
 * they leave so little that the prompt must be counted.
 */
function longestByBytes(facts: PromptFacts): number | undefined {
  const { params, requestedLimit, contextTokens, outputTokensMax } = facts;
  if (requestedLimit <= outputTokensMax) return requestedLimit;
  if (facts.references.length > 0) return undefined;
  // Uses the bytes of the text, not of the request, so that the limit is the same on every wire.
  const bytes = facts.textBytes + templateBound(params);
  const left = contextTokens - bytes;
  const isSmall = left >= outputTokensMax || bytes * smallPromptShare <= contextTokens;
  return isSmall ? Math.min(outputTokensMax, Math.max(1, left)) : undefined;
}

/**
 * Tokens of the context that the prompt leaves. Some servers refuse a limit above that, so this errs on the low side: a
 * prompt close to the context gets half of the remaining tokens by its count.
 */
async function countedRoom({ params, contextTokens, references, contextUse }: PromptFacts): Promise<number> {
  const tokens = await contextUse;
  const half = Math.floor((contextTokens - tokens) / 2);
  return Math.max(1, half, references.length > 0 ? 1 : contextTokens - withMargin(tokens, params));
}

/** Bounds the prompt. One that refers to more than images can be as long as the model's context. @param tokens those of its text */
function promptBound({ contextTokens, references }: PromptFacts, tokens: number): number {
  return references.reduce(
    (sum, { tokens: more }) => Math.min(contextTokens, sum + more),
    Math.min(contextTokens, tokens),
  );
}

/** No tokenizer makes more tokens than bytes. */
function textBound({ requestBytes, references }: PromptFacts): number {
  return references.reduce((left, { bytes }) => left - bytes, requestBytes);
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

/** A request, for each model that may answer it. */
export interface PromptRequest {
  readonly params: ChatCompletionParams;
  /** The client's limit for each choice, which is no longer in `params`; Infinity without one. */
  readonly requestedLimit: number;
  readonly call: Call;
  readonly tokens: TokenCounter;
}

/**
 * Facts about a prompt on a model for its hold, for all attempts to hold credits. Most requests need few of them, so each is found at
 * its first use.
 */
export class PromptFacts {
  readonly model: ChatModel;
  readonly price: Price;
  /** The price of its dearest tokens. */
  readonly highest: Price;
  readonly params: ChatCompletionParams;
  readonly requestedLimit: number;
  readonly contextTokens: number;
  readonly outputTokensMax: number;
  readonly #request: PromptRequest;
  #textBytes: number | undefined;
  #references: ReturnType<typeof referencesOf> | undefined;
  #requestTokens: Promise<number> | undefined;
  #messageTokens: Promise<number> | undefined;
  #contextUse: Promise<number> | undefined;

  constructor(model: ChatModel, price: Price, request: PromptRequest) {
    this.model = model;
    this.price = price;
    this.highest = highestPrice(price);
    this.params = request.params;
    this.requestedLimit = request.requestedLimit;
    this.contextTokens = model.contextTokens;
    this.outputTokensMax = model.outputTokensMax;
    this.#request = request;
  }

  get requestBytes(): number {
    return this.#request.call.requestBytes;
  }

  /** Bytes of the prompt's text, its tools and the form of its answer. */
  get textBytes(): number {
    this.#textBytes ??= promptBytes(this.params) + Buffer.byteLength(formText(this.params));
    return this.#textBytes;
  }

  /** Content whose tokens cannot be counted here: images, and content of unknown length. */
  get references() {
    this.#references ??= referencesOf(this.params, this.model.imageTokens);
    return this.#references;
  }

  /** Tokens of the whole request, but those of its images. For a prompt whose bound by bytes is not affordable. */
  get requestTokens(): Promise<number> {
    const texts = () => (this.references.length === 0 ? this.params : withoutImages(this.params));
    this.#requestTokens ??= this.#count(toJsonString(ChatCompletionParamsSchema, texts()));
    return this.#requestTokens;
  }

  /** Upstreams shorten tools in their own ways, so only the messages tell that a prompt is too long. */
  get messageTokens(): Promise<number> {
    this.#messageTokens ??= this.#count(promptText({ ...this.params, tools: [] }));
    return this.#messageTokens;
  }

  /** Tokens of all that takes room in the context. For a prompt that may not leave room for the longest answer. */
  get contextUse(): Promise<number> {
    this.#contextUse ??= this.#countContext();
    return this.#contextUse;
  }

  async #countContext(): Promise<number> {
    const definitions = promptText({ ...this.params, messages: [] }) + formText(this.params);
    if (definitions === '') return this.messageTokens;
    const [text, more] = await Promise.all([this.messageTokens, this.#count(definitions)]);
    return text + more;
  }

  /** Counts up to the context: every longer prompt is refused in the same way, so its exact length does not matter. */
  #count(text: string): Promise<number> {
    const { call, tokens } = this.#request;
    return tokens.count(text, { signal: call.signal, tokensMax: this.contextTokens, mayBeRefused: true });
  }
}

/** The form of the answer, and functions in their older form, as servers show them to the model. */
function formText({ responseFormat, other }: ChatCompletionParams): string {
  const form = responseFormat ? toJsonString(ResponseFormatSchema, responseFormat) : '';
  return other?.['functions'] ? form + JSON.stringify(other['functions']) : form;
}
