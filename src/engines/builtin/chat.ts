import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { create, type MessageInitShape } from '@bufbuild/protobuf';
import {
  type ChatChunkChoiceSchema,
  ChatCompletionChunkSchema,
  type ChatCompletionParams,
  ChatCompletionSchema,
  type Usage,
  UsageSchema,
} from '../../../gen/parley/chat/v1/chat_pb.ts';
import {
  type ChatAnswer,
  type ChatChunk,
  messageAnswer,
  messageChunk,
} from '../../core/entities/chat-answer.ts';
import type { ChatEngine, TokenCounter } from '../../core/entities/engine.ts';
import { invalid } from '../../core/values/parameters.ts';
import { type Signal, untilAborted } from '../../core/values/signal.ts';
import { answersTo, textsOf } from './eliza/answer.ts';

export interface BuiltinChatOptions {
  /** The caller closes it. */
  readonly tokens: TokenCounter;
  /** Milliseconds since 1970. */
  readonly clock: () => number;
  /** Milliseconds between the words of a stream, so that streaming shows. Default: 15. 0: no delay. */
  readonly wordDelayMs?: number;
}

/** Prompt tokens of a message's role and frame. */
const tokensPerMessage = 3;

/** Stop sequences of a request. OpenAI takes 4. */
const stopsMax = 16;

/**
 * A small rule-based ELIZA, for trying the service without a model. Honours `n`, `stop`, `max_tokens` and
 * `max_completion_tokens`, always reports usage, and ignores other parameters. The caller has checked all but `stop`.
 * @throws `invalid_parameter`, the signal's reason, or the token counter's error
 */
export function createBuiltinChat(options: BuiltinChatOptions): ChatEngine {
  return {
    tokenizer: 'o200k',
    availability: () => ({ available: true }),
    complete: (params, signal) => complete(params, signal, options),
    stream: (params, signal) => stream(params, signal, options),
  };
}

async function complete(
  params: ChatCompletionParams,
  signal: Signal,
  { tokens, clock }: BuiltinChatOptions,
): Promise<ChatAnswer> {
  const { answers, usage } = await answer(params, signal, tokens);
  const choices = answers.map(({ words, finishReason }, index) => {
    const content = { value: { case: 'text', value: words.join('') } } as const;
    return { index, message: { role: 'assistant', content }, finishReason };
  });
  const head = { ...headOf(params, clock), object: 'chat.completion' };
  return messageAnswer(create(ChatCompletionSchema, { ...head, choices, usage }));
}

/** The role of each choice, then the words of all choices in turn, then their finish reasons, the last with the usage. */
async function* stream(
  params: ChatCompletionParams,
  signal: Signal,
  { tokens, clock, wordDelayMs = 15 }: BuiltinChatOptions,
): AsyncGenerator<readonly ChatChunk[]> {
  const { answers, usage } = await answer(params, signal, tokens);
  const head = { ...headOf(params, clock), object: 'chat.completion.chunk' };
  const chunk = (choice: MessageInitShape<typeof ChatChunkChoiceSchema>, usage?: Usage) =>
    messageChunk(create(ChatCompletionChunkSchema, { ...head, choices: [choice], ...(usage && { usage }) }));
  yield answers.map((_, index) => chunk({ index, delta: { role: 'assistant' } }));
  const longest = Math.max(...answers.map(({ words }) => words.length));
  for (let at = 0; at < longest; at++) {
    if (wordDelayMs > 0) await untilAborted(sleep(wordDelayMs), signal);
    signal.throwIfAborted();
    yield answers.flatMap(({ words }, index) =>
      words.slice(at, at + 1).map((content) => chunk({ index, delta: { content } })),
    );
  }
  const last = answers.length - 1;
  yield answers.map(({ finishReason }, index) =>
    chunk({ index, delta: {}, finishReason }, index === last ? usage : undefined),
  );
}

function headOf(params: ChatCompletionParams, clock: () => number) {
  return {
    id: `chatcmpl-${randomUUID().replaceAll('-', '')}`,
    created: BigInt(Math.floor(clock() / 1000)),
    model: params.model ?? '',
  };
}

interface Answer {
  readonly answers: readonly LimitedAnswer[];
  readonly usage: Usage;
}

function answer(params: ChatCompletionParams, signal: Signal, tokens: TokenCounter): Promise<Answer> {
  const count = (text: string | readonly string[]) => tokens.count(text, { signal, mayBeRefused: true });
  const counted = async () => {
    const answers = await limitedAnswers(params, count);
    const texts = params.messages.flatMap(({ content }) => textsOf(content));
    const promptTokens = params.messages.length * tokensPerMessage + (await count(texts));
    const completionTokens = answers.reduce((sum, each) => sum + each.tokens, 0);
    const totalTokens = promptTokens + completionTokens;
    return { answers, usage: create(UsageSchema, { promptTokens, completionTokens, totalTokens }) };
  };
  return untilAborted(counted(), signal);
}

/** Equal texts are cut and counted once, and one after the other, as a request has one place in the counter's queue. */
async function limitedAnswers(
  params: ChatCompletionParams,
  count: (text: string) => Promise<number>,
): Promise<readonly LimitedAnswer[]> {
  const stops = stopsOf(params);
  const choose = answersTo(params.messages);
  const tokensMax = Math.min(params.maxTokens ?? Infinity, params.maxCompletionTokens ?? Infinity);
  const texts = Array.from({ length: params.n ?? 1 }, (_, choice) => choose(choice));
  const answers = new Map<string, LimitedAnswer>();
  for (const text of new Set(texts)) {
    answers.set(text, await endAtLimit(endAtStop(text, stops), tokensMax, count));
  }
  return texts.flatMap((text) => answers.get(text) ?? []);
}

function stopsOf({ stop }: ChatCompletionParams): readonly string[] {
  if (stop?.value.case === 'text') return [stop.value.value];
  const stops = stop?.value.case === 'list' ? stop.value.value.items : [];
  if (stops.length <= stopsMax) return stops;
  throw invalid('stop', `\`stop\` has ${stops.length} sequences; this model takes ${stopsMax}. Send fewer.`);
}

interface LimitedAnswer {
  /** Joined without a separator, they are the text. Each but the first begins with its blank. */
  readonly words: readonly string[];
  /** The exact number of o200k tokens of the text. */
  readonly tokens: number;
  readonly finishReason: 'stop' | 'length';
}

/** The text before the first stop sequence. Empty sequences are ignored. */
function endAtStop(text: string, stops: readonly string[]): string {
  const places = stops.filter((stop) => stop !== '').map((stop) => text.indexOf(stop));
  return text.slice(0, Math.min(text.length, ...places.filter((place) => place >= 0)));
}

/** The text up to `tokensMax` tokens, with the beginning of a word that the limit cuts. It is sought by halving. */
async function endAtLimit(
  text: string,
  tokensMax: number,
  count: (text: string) => Promise<number>,
): Promise<LimitedAnswer> {
  const all = await count(text);
  if (all <= tokensMax) return { words: wordsOf(text), tokens: all, finishReason: 'stop' };
  const characters = Array.from(text);
  let best = { text: '', tokens: 0, length: 0 };
  let tooLong = characters.length;
  while (tooLong - best.length > 1) {
    const length = Math.floor((best.length + tooLong) / 2);
    const beginning = characters.slice(0, length).join('');
    const tokens = await count(beginning);
    if (tokens <= tokensMax) best = { text: beginning, tokens, length };
    else tooLong = length;
  }
  return { words: wordsOf(best.text), tokens: best.tokens, finishReason: 'length' };
}

const wordsOf = (text: string): readonly string[] => text.match(/\s*\S+|\s+$/g) ?? [];
