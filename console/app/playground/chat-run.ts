/** Asks one model, and reports the answer as it arrives. */
import type { Model } from '../../../gen/parley/catalog/v1/catalog_pb.ts';
import { chat, failureOf, isAborted, noteFailure } from '../api.ts';

export interface ChatSettings {
  readonly system: string;
  /** Empty: the model's own. */
  readonly temperature: string;
  /** Empty: the model's own. */
  readonly maxTokens: string;
}

export interface Answer {
  readonly text: string;
  readonly state: 'running' | 'whole' | 'stopped' | 'failed';
  readonly problem?: string;
  readonly promptTokens?: number;
  readonly cachedTokens?: number;
  readonly cacheWriteTokens?: number;
  readonly completionTokens?: number;
  readonly finish?: string;
  readonly firstMs?: number;
  readonly wholeMs?: number;
}

export interface Turn {
  readonly question: string;
  /** By the ids of the models. */
  readonly answers: Readonly<Record<string, Answer>>;
}

export interface ChatText {
  readonly role: 'system' | 'user' | 'assistant';
  readonly content: string;
}

/** The conversation as one model has seen it, with a new question. */
export function messagesFor(
  model: string,
  turns: readonly Turn[],
  question: string,
  system: string,
): ChatText[] {
  const earlier = turns.flatMap(({ question: asked, answers }): ChatText[] => {
    const text = answers[model]?.text ?? '';
    return text === ''
      ? []
      : [
          { role: 'user', content: asked },
          { role: 'assistant', content: text },
        ];
  });
  const first: ChatText[] = system.trim() === '' ? [] : [{ role: 'system', content: system }];
  return [...first, ...earlier, { role: 'user', content: question }];
}

/** Resolves when the answer has ended, in any way. */
export async function ask(
  model: string,
  messages: readonly ChatText[],
  { temperature, maxTokens }: ChatSettings,
  onAnswer: (answer: Answer) => void,
  signal: AbortSignal,
): Promise<void> {
  const startedMs = performance.now();
  let answer: Answer = { text: '', state: 'running' };
  const report = (next: Partial<Answer>) => {
    answer = { ...answer, ...next };
    onAnswer(answer);
  };
  const params = {
    model,
    messages: messages.map(({ role, content }) => ({
      role,
      content: { value: { case: 'text' as const, value: content } },
    })),
    ...(temperature !== '' && { temperature: Number(temperature) }),
    ...(maxTokens !== '' && { maxTokens: Number(maxTokens) }),
  };
  const since = () => performance.now() - startedMs;
  report({});
  try {
    for await (const { chunk } of chat.streamChatCompletion({ params }, { signal })) {
      const [choice] = chunk?.choices ?? [];
      const part = choice?.delta?.content ?? '';
      const { promptTokens, completionTokens, promptTokensDetails } = chunk?.usage ?? {};
      const { cachedTokens, cacheWriteTokens } = promptTokensDetails ?? {};
      report({
        text: answer.text + part,
        ...(part !== '' && answer.firstMs === undefined && { firstMs: since() }),
        ...(promptTokens !== undefined && { promptTokens }),
        ...(cachedTokens !== undefined && { cachedTokens }),
        ...(cacheWriteTokens !== undefined && { cacheWriteTokens }),
        ...(completionTokens !== undefined && { completionTokens }),
        ...(choice?.finishReason !== undefined && { finish: choice.finishReason }),
      });
    }
    report({ state: 'whole', wholeMs: since() });
  } catch (error) {
    if (signal.aborted || isAborted(error)) report({ state: 'stopped', wholeMs: since() });
    else report({ state: 'failed', problem: failureOf(noteFailure(error)).message, wholeMs: since() });
  }
}

/** The price of the tokens in nano-credits, rounded as on the server; undefined while they are unknown. */
export function costOf({ price }: Model, answer: Answer): bigint | undefined {
  const { promptTokens, completionTokens, cachedTokens = 0, cacheWriteTokens = 0 } = answer;
  if (price === undefined || promptTokens === undefined || completionTokens === undefined) return undefined;
  const { input, output, cachedInput = input, cacheWrite = input } = price;
  const whole =
    nanoOf(input) * BigInt(promptTokens - cachedTokens - cacheWriteTokens) +
    nanoOf(cachedInput) * BigInt(cachedTokens) +
    nanoOf(cacheWrite) * BigInt(cacheWriteTokens) +
    nanoOf(output) * BigInt(completionTokens);
  return (whole + 999_999n) / 1_000_000n;
}

/** Converts an exact decimal of credits to nano-credits. */
function nanoOf(decimal: string): bigint {
  const [credits = '0', fraction = ''] = decimal.split('.');
  return BigInt(credits) * 1_000_000_000n + BigInt(fraction.padEnd(9, '0').slice(0, 9));
}
