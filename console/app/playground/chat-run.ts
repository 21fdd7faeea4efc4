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
  const tell = (next: Partial<Answer>) => {
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
  tell({});
  try {
    for await (const { chunk } of chat.streamChatCompletion({ params }, { signal })) {
      const [choice] = chunk?.choices ?? [];
      const part = choice?.delta?.content ?? '';
      const { promptTokens, completionTokens } = chunk?.usage ?? {};
      tell({
        text: answer.text + part,
        ...(part !== '' && answer.firstMs === undefined && { firstMs: since() }),
        ...(promptTokens !== undefined && { promptTokens }),
        ...(completionTokens !== undefined && { completionTokens }),
        ...(choice?.finishReason !== undefined && { finish: choice.finishReason }),
      });
    }
    tell({ state: 'whole', wholeMs: since() });
  } catch (error) {
    if (signal.aborted || isAborted(error)) tell({ state: 'stopped', wholeMs: since() });
    else tell({ state: 'failed', problem: failureOf(noteFailure(error)).message, wholeMs: since() });
  }
}

/** The price of the tokens in nano-credits, rounded as on the server; undefined while they are unknown. */
export function costOf({ price }: Model, { promptTokens, completionTokens }: Answer): bigint | undefined {
  if (price === undefined || promptTokens === undefined || completionTokens === undefined) return undefined;
  const whole = nanoOf(price.input) * BigInt(promptTokens) + nanoOf(price.output) * BigInt(completionTokens);
  return (whole + 999_999n) / 1_000_000n;
}

/** Converts an exact decimal of credits to nano-credits. */
function nanoOf(decimal: string): bigint {
  const [credits = '0', fraction = ''] = decimal.split('.');
  return BigInt(credits) * 1_000_000_000n + BigInt(fraction.padEnd(9, '0').slice(0, 9));
}
