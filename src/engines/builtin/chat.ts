import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { create } from '@bufbuild/protobuf';
import {
  type ChatChoice,
  ChatChoiceSchema,
  type ChatChunkChoice,
  ChatChunkChoiceSchema,
  ChatCompletionChunkSchema,
  type ChatCompletionParams,
  ChatCompletionSchema,
  type ChatMessage,
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
import { ParleyError } from '../../core/values/errors.ts';
import { OwnSignal, type Signal } from '../../core/values/signal.ts';
import { untilAborted } from '../until-aborted.ts';
import { conversationOf, textsOf } from './eliza/conversation.ts';
import { endAtLimit, endAtStop, type LimitedAnswer } from './eliza/limit.ts';
import { responder } from './eliza/respond.ts';

export interface BuiltinChatOptions {
  /** The caller closes it. */
  readonly tokens: TokenCounter;
  /** Milliseconds since 1970. */
  readonly clock: () => number;
  /** Milliseconds between the words of a stream, so that streaming shows. Default: 15. 0 means as fast as it is read. */
  readonly wordDelayMs?: number;
}

/** Prompt tokens of a message's role and frame. */
const tokensPerMessage = 3;

/** Stop sequences of a request. OpenAI takes 4. */
const stopsMax = 16;

/**
 * A small rule-based ELIZA, for trying the service without a model. It honours `n`, `stop`, `max_tokens` and
 * `max_completion_tokens` and always reports its usage. It never calls tools, and ignores other parameters. The parameters
 * must be checked already, but for `stop`, which has up to 16 sequences. `prompt_tokens` is the sum of the o200k tokens of each
 * text in `messages`, plus 3 a message; `completion_tokens` is the exact count of the texts of all choices.
 *
 * Rejects with `invalid_parameter`, the signal's reason, or the token counter's error.
 */
export function createBuiltinChat(options: BuiltinChatOptions): ChatEngine {
  const { tokens, clock, wordDelayMs = 15 } = options;
  return {
    tokenizer: 'o200k',
    availability: () => ({ available: true }),
    complete: (params, signal) => complete(params, signal, tokens, clock),
    stream: (params, signal) => stream(params, signal, tokens, clock, wordDelayMs),
  };
}

async function complete(
  params: ChatCompletionParams,
  signal: Signal,
  tokens: TokenCounter,
  clock: () => number,
): Promise<ChatAnswer> {
  const work = Promise.all([
    answersTo(params, tokens, signal),
    promptTokensOf(params.messages, tokens, signal),
  ]);
  const [answers, promptTokens] = await untilAborted(work, signal);
  const completion = create(ChatCompletionSchema, {
    ...headOf(params, clock),
    object: 'chat.completion',
    choices: answers.map(choiceOf),
    usage: usageOf(promptTokens, answers),
  });
  return messageAnswer(completion);
}

function choiceOf(answer: LimitedAnswer, index: number): ChatChoice {
  return create(ChatChoiceSchema, {
    index,
    message: { role: 'assistant', content: { value: { case: 'text', value: answer.words.join('') } } },
    finishReason: answer.finishReason,
  });
}

/** Sends the answers while the prompt is counted, then their finish reasons, the last with the usage. */
async function* stream(
  params: ChatCompletionParams,
  signal: Signal,
  tokens: TokenCounter,
  clock: () => number,
  wordDelayMs: number,
): AsyncGenerator<readonly ChatChunk[]> {
  const head = { ...headOf(params, clock), object: 'chat.completion.chunk' };
  const stop = new OwnSignal();
  stop.owner = signal.owner;
  const leave = () => stop.abort(signal.reason);
  signal.addEventListener('abort', leave);
  if (signal.aborted) leave();
  const counting = promptTokensOf(params.messages, tokens, stop);
  // It is awaited at the end; until then a failure must not count as unhandled.
  counting.catch(() => undefined);
  try {
    const answers = await untilAborted(answersTo(params, tokens, stop), signal);
    for await (const choice of pacedPieces(answers, wordDelayMs, signal)) {
      yield [messageChunk(create(ChatCompletionChunkSchema, { ...head, choices: [choice] }))];
    }
    const usage = usageOf(await untilAborted(counting, signal), answers);
    yield answers.map(({ finishReason }, index) =>
      messageChunk(
        create(ChatCompletionChunkSchema, {
          ...head,
          choices: [{ index, delta: {}, finishReason }],
          ...(index === answers.length - 1 && { usage }),
        }),
      ),
    );
  } finally {
    signal.removeEventListener('abort', leave);
    stop.abort(new ParleyError('request_cancelled'));
  }
}

/** The role of each choice, then one word of each choice at a time. */
async function* pacedPieces(
  answers: readonly LimitedAnswer[],
  wordDelayMs: number,
  signal: Signal,
): AsyncGenerator<ChatChunkChoice> {
  for (const index of answers.keys()) {
    yield create(ChatChunkChoiceSchema, { index, delta: { role: 'assistant' } });
  }
  for (const round of roundsOf(answers)) {
    if (wordDelayMs > 0) await untilAborted(sleep(wordDelayMs), signal);
    for (const { index, word } of round) {
      signal.throwIfAborted();
      yield create(ChatChunkChoiceSchema, { index, delta: { content: word } });
    }
  }
}

interface StreamedWord {
  readonly index: number;
  readonly word: string;
}

/** The first words of all choices, then their second words, and so on. */
function* roundsOf(answers: readonly LimitedAnswer[]): Generator<readonly StreamedWord[]> {
  const longest = Math.max(...answers.map((answer) => answer.words.length));
  for (let at = 0; at < longest; at++) {
    yield answers.flatMap(({ words }, index) => {
      const word = words[at];
      return word === undefined ? [] : [{ index, word }];
    });
  }
}

function headOf(params: ChatCompletionParams, clock: () => number) {
  return {
    id: `chatcmpl-${randomUUID().replaceAll('-', '')}`,
    created: BigInt(Math.floor(clock() / 1000)),
    model: params.model ?? '',
  };
}

/** Equal texts are cut and counted once, and one after the other: a request has one place among those that wait for the counter. */
async function answersTo(
  params: ChatCompletionParams,
  tokens: TokenCounter,
  signal: Signal,
): Promise<LimitedAnswer[]> {
  const stops = stopsOf(params);
  const choose = responder(conversationOf(params.messages));
  const tokensMax = Math.min(params.maxTokens ?? Infinity, params.maxCompletionTokens ?? Infinity);
  const count = (text: string) => tokens.count(text, { signal, mayBeRefused: true });
  const answers = new Map<string, LimitedAnswer>();
  const texts = Array.from({ length: params.n ?? 1 }, (_, choice) => choose(choice));
  for (const text of new Set(texts)) {
    answers.set(text, await endAtLimit(endAtStop(text, stops), tokensMax, count));
  }
  return texts.flatMap((text) => answers.get(text) ?? []);
}

function stopsOf({ stop }: ChatCompletionParams): readonly string[] {
  if (stop?.value.case === 'text') return [stop.value.value];
  const stops = stop?.value.case === 'list' ? stop.value.value.items : [];
  if (stops.length <= stopsMax) return stops;
  throw new ParleyError('invalid_parameter', {
    message: `\`stop\` has ${stops.length} sequences; this model takes ${stopsMax}. Send fewer.`,
    param: 'stop',
  });
}

async function promptTokensOf(
  messages: readonly ChatMessage[],
  tokens: TokenCounter,
  signal: Signal,
): Promise<number> {
  const texts = messages.flatMap((message) => textsOf(message.content));
  return messages.length * tokensPerMessage + (await tokens.count(texts, { signal, mayBeRefused: true }));
}

function usageOf(promptTokens: number, answers: readonly LimitedAnswer[]): Usage {
  const completionTokens = answers.reduce((sum, answer) => sum + answer.tokens, 0);
  return create(UsageSchema, {
    promptTokens,
    completionTokens,
    totalTokens: promptTokens + completionTokens,
  });
}
