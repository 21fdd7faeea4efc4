/**
 * The hold of a chat request: the most that its prompt and its answer can cost. If the account cannot afford that, the prompt is
 * counted instead of bounded; if that is still too much, the answer is limited to what is affordable.
 */
import type { ChatCompletionParams, ContentPart } from '../../../gen/parley/chat/v1/chat_pb.ts';
import type { ChatModel } from '../catalog/catalog.ts';
import { ParleyError } from '../errors.ts';
import { cost, type NanoCredits, type Price, tokensPerPrice } from './money.ts';

/** Tokens that a model's template may add to a message, and to start the answer. */
const templateTokensPerMessage = 8;
const templateTokens = 16;
/** Margin for models whose tokenizer counts more than ours. */
const countMarginPercent = 25;

export interface HoldPlan {
  readonly amount: NanoCredits;
  /** Tokens of each choice, if the answer has to be shorter than requested. */
  readonly outputLimit: number | undefined;
}

export interface HoldFacts {
  readonly model: ChatModel;
  readonly params: ChatCompletionParams;
  /** Bytes of the request. No tokenizer makes more tokens than bytes. */
  readonly requestBytes: number;
  /** Counts the prompt's tokens. Called only if the bound by bytes is not affordable. */
  readonly countPrompt: () => Promise<number>;
}

/** @throws `insufficient_credits` if `available` does not cover the prompt and one token of each choice */
export async function planHold(facts: HoldFacts, available: NanoCredits): Promise<HoldPlan> {
  const { model, params } = facts;
  const choices = params.n ?? 1;
  const outputTokens = outputBound(model, params);
  const byBytes = promptBound(facts, facts.requestBytes);
  const amountOf = (promptTokens: number, tokens: number) =>
    cost(model.price, { promptTokens, completionTokens: tokens * choices });
  // Do not count a long prompt if even the shortest one is not affordable.
  if (amountOf(1, 1) > available) throw new ParleyError('insufficient_credits');
  const whole = amountOf(byBytes, outputTokens);
  if (whole <= available) return { amount: whole, outputLimit: undefined };
  const promptTokens = Math.min(byBytes, promptBound(facts, withMargin(await facts.countPrompt(), params)));
  const counted = amountOf(promptTokens, outputTokens);
  if (counted <= available) return { amount: counted, outputLimit: undefined };
  const outputLimit = affordableTokens(model.price, promptTokens, choices, available);
  if (outputLimit < 1) throw new ParleyError('insufficient_credits');
  return { amount: amountOf(promptTokens, outputLimit), outputLimit };
}

/** The most tokens of one choice: the least of the model's maximum and the client's limits. */
function outputBound(model: ChatModel, { maxTokens, maxCompletionTokens }: ChatCompletionParams): number {
  return Math.min(model.outputTokensMax, maxTokens ?? Infinity, maxCompletionTokens ?? Infinity);
}

/** Bounds the prompt. One with references, such as image URLs, can be as long as the model's context. */
function promptBound({ model, params }: HoldFacts, tokens: number): number {
  return refersElsewhere(params) ? model.contextTokens : Math.min(model.contextTokens, tokens);
}

function refersElsewhere({ messages }: ChatCompletionParams): boolean {
  return messages.some(
    ({ content }) => content?.value.case === 'parts' && content.value.value.items.some(isReference),
  );
}

function isReference({ imageUrl, file, type }: ContentPart): boolean {
  return imageUrl !== undefined || file !== undefined || (type !== undefined && !countedParts.has(type));
}

/** Types of content parts whose tokens are all in the request. */
const countedParts: ReadonlySet<string> = new Set(['text', 'refusal']);

function withMargin(tokens: number, { messages }: ChatCompletionParams): number {
  const template = templateTokens + messages.length * templateTokensPerMessage;
  return Math.ceil((tokens * (100 + countMarginPercent)) / 100) + template;
}

/** The most tokens of each choice whose cost, with the prompt's, is at most `available`. */
function affordableTokens(
  price: Price,
  promptTokens: number,
  choices: number,
  available: NanoCredits,
): number {
  const budget = available * tokensPerPrice - price.inputPerMillion * BigInt(promptTokens);
  if (budget < 0n) return 0;
  // A free answer does not make it unaffordable.
  if (price.outputPerMillion === 0n) return 0;
  return Number(budget / (price.outputPerMillion * BigInt(choices)));
}
