/**
 * Several prompts in one request: one hold, one record and one list of choices. The engine gets each prompt as a
 * separate chat, one after the other.
 */
import { create } from '@bufbuild/protobuf';
import {
  type ChatChoice,
  type ChatCompletionParams,
  ChatCompletionSchema,
  type Usage,
  UsageSchema,
} from '../../../gen/parley/chat/v1/chat_pb.ts';
import { readReport, usageOf } from '../billing/token-report.ts';
import { checkWhole } from '../chat/checks.ts';
import { StreamedAnswer } from '../chat/streamed-answer.ts';
import { type ChatAnswer, type ChatChunk, messageAnswer, messageChunk } from '../entities/chat-answer.ts';
import { contentText } from '../entities/chat-text.ts';
import type { ChatEngine } from '../entities/engine.ts';
import type { ChatModel } from '../entities/model.ts';
import type { TokenUsage } from '../entities/usage.ts';
import { isNews } from '../values/batches.ts';
import type { Signal } from '../values/signal.ts';

/** An answer may use the part of the context that the longest prompt leaves by its bytes, but at least this share. */
const answerShareMin = 1 / 8;

/**
 * The model for params whose messages are prompts, and whose `n` counts the choices of all of them. While it runs,
 * reduces the params to the started prompts, so that a client that leaves pays for no others.
 */
export function forEachPrompt(model: ChatModel, { messages }: ChatCompletionParams): ChatModel {
  const { engine, contextTokens, outputTokensMax } = model;
  const longest = Math.max(...messages.map(({ content }) => Buffer.byteLength(contentText(content))));
  const room = Math.max(contextTokens - longest, Math.floor(contextTokens * answerShareMin));
  return {
    ...model,
    contextTokens: contextTokens * messages.length,
    outputTokensMax: Math.min(outputTokensMax, room),
    engine: {
      tokenizer: engine.tokenizer,
      availability: () => engine.availability(),
      complete: (params, signal) => complete(engine, params, signal),
      stream: (params, signal) => stream(engine, params, signal),
    },
  };
}

async function complete(
  engine: ChatEngine,
  params: ChatCompletionParams,
  signal: Signal,
): Promise<ChatAnswer> {
  const choices: ChatChoice[] = [];
  const reports: Report[] = [];
  for (const { chat, offset } of chatsOf(params)) {
    const answer = await engine.complete(chat, signal);
    checkWhole(answer);
    reports.push(readReport(answer.takeUsage(), answer.hasOutput));
    choices.push(...shifted(answer.message.choices, offset));
  }
  return messageAnswer(create(ChatCompletionSchema, { choices, usage: sumOf(reports) }));
}

/** Placeholder; each chunk gets its head when it leaves. */
const noHead = { id: '', object: 'chat.completion.chunk', created: 0, model: '' } as const;

async function* stream(
  engine: ChatEngine,
  params: ChatCompletionParams,
  signal: Signal,
): AsyncGenerator<readonly ChatChunk[]> {
  const reports: Report[] = [];
  for (const { chat, offset } of chatsOf(params)) {
    const answer = new StreamedAnswer(noHead);
    for await (const chunks of engine.stream(chat, signal)) {
      const ready = answer.take(chunks);
      if (isNews(ready, chunks)) yield ready.map((chunk) => moved(chunk, offset));
    }
    const last = moved(answer.finish(), offset);
    reports.push(readReport(answer.usage, answer.hasOutput));
    last.setUsage(sumOf(reports));
    yield [last];
  }
}

function* chatsOf(params: ChatCompletionParams) {
  const prompts = params.messages;
  const n = (params.n ?? prompts.length) / prompts.length;
  params.messages = [];
  for (const [index, prompt] of prompts.entries()) {
    params.messages.push(prompt);
    const chat = { ...params, messages: [prompt], n: n > 1 ? n : undefined };
    yield { chat, offset: index * n };
  }
}

function moved(chunk: ChatChunk, offset: number): ChatChunk {
  const { message } = chunk;
  return messageChunk({ ...message, choices: shifted(message.choices, offset) });
}

function shifted<T extends { readonly index: number }>(choices: readonly T[], offset: number): T[] {
  return choices.map((choice) => ({ ...choice, index: choice.index + offset }));
}

type Report = TokenUsage | undefined;

/** Undefined if no report has it. */
function sumOfKnown(one: number | undefined, other: number | undefined): number | undefined {
  return one === undefined && other === undefined ? undefined : (one ?? 0) + (other ?? 0);
}

/** Zero counts as no report: if one prompt has no report, all are counted here. */
function sumOf(reports: readonly Report[]): Usage {
  let sum: TokenUsage = { promptTokens: 0, completionTokens: 0, totalTokens: 0, source: 'reported' };
  for (const report of reports) {
    if (report === undefined) return create(UsageSchema);
    sum = {
      promptTokens: sum.promptTokens + report.promptTokens,
      cachedTokens: sumOfKnown(sum.cachedTokens, report.cachedTokens),
      cacheWriteTokens: sumOfKnown(sum.cacheWriteTokens, report.cacheWriteTokens),
      completionTokens: sum.completionTokens + report.completionTokens,
      totalTokens: sum.totalTokens + report.totalTokens,
      source: 'reported',
    };
  }
  return usageOf(sum, undefined);
}
