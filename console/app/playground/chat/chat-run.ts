/** Asks one model, and reports the answer as it arrives. */
import { fromJson } from '@bufbuild/protobuf';
import type { Model } from '../../../../gen/parley/catalog/v1/catalog_pb.ts';
import { type Tool, type ToolCall, ToolSchema } from '../../../../gen/parley/chat/v1/chat_pb.ts';
import { isAborted, problemOf } from '../../api.ts';
import type { PlayClients } from '../clients.ts';
import { billOf, costOf, type Tokens, tokensOf } from './bill.ts';

/** As the reader typed them. Empty: the model's own, or none. */
export interface ChatSettings {
  readonly system: string;
  readonly temperature: string;
  readonly maxTokens: string;
  /** A JSON array, as in `tools` of OpenAI's API. */
  readonly tools: string;
}

/** A model's wish to call a tool. The playground shows it, and calls nothing. */
interface WantedCall {
  readonly name: string;
  /** As the model wrote them. */
  readonly input: string;
}

export interface Answer extends Tokens {
  readonly text: string;
  readonly state: 'running' | 'whole' | 'stopped' | 'failed';
  readonly problem?: string;
  readonly calls?: readonly WantedCall[];
  readonly requestId?: string;
  readonly cost?: bigint;
  readonly finish?: string;
  readonly firstMs?: number;
  readonly wholeMs?: number;
}

export interface Question {
  readonly question: string;
  /** `data:` URLs. */
  readonly images: readonly string[];
}

export interface Turn extends Question {
  /** By the ids of the models. */
  readonly answers: Readonly<Record<string, Answer>>;
}

export interface ChatText {
  readonly role: 'system' | 'user' | 'assistant';
  readonly content: string;
  readonly images?: readonly string[];
}

/** The conversation as one model has seen it, with a new question. */
export function messagesFor(
  model: string,
  turns: readonly Turn[],
  next: Question,
  system: string,
): ChatText[] {
  const earlier = turns.flatMap((turn): ChatText[] => {
    const text = turn.answers[model]?.text ?? '';
    return text === '' ? [] : [asked(turn), { role: 'assistant', content: text }];
  });
  const first: ChatText[] = system.trim() === '' ? [] : [{ role: 'system', content: system }];
  return [...first, ...earlier, asked(next)];
}

const asked = ({ question, images }: Question): ChatText => ({
  role: 'user',
  content: question,
  ...(images.length > 0 && { images }),
});

/** @throws Error that says what is wrong with the JSON */
export function toolsOf(json: string): Tool[] {
  if (json.trim() === '') return [];
  const tools: unknown = JSON.parse(json);
  if (!Array.isArray(tools)) throw new Error('Tools are a JSON array, as in the tools of OpenAI’s API.');
  return tools.map((tool) => fromJson(ToolSchema, tool));
}

function paramsOf(model: string, messages: readonly ChatText[], settings: ChatSettings) {
  const { temperature, maxTokens, tools } = settings;
  return {
    model,
    messages: messages.map(({ role, content, images }) => ({
      role,
      content: { value: images === undefined ? textValue(content) : partsValue(content, images) },
    })),
    ...(temperature !== '' && { temperature: Number(temperature) }),
    ...(maxTokens !== '' && { maxTokens: Number(maxTokens) }),
    tools: toolsOf(tools),
  };
}

const textValue = (value: string) => ({ case: 'text' as const, value });

function partsValue(text: string, images: readonly string[]) {
  const parts = images.map((url) => ({ type: 'image_url', imageUrl: { url } }));
  return {
    case: 'parts' as const,
    value: { items: [...(text === '' ? [] : [{ type: 'text', text }]), ...parts] },
  };
}

export interface Asked {
  readonly model: Model;
  readonly messages: readonly ChatText[];
  readonly settings: ChatSettings;
  readonly signal: AbortSignal;
  readonly onAnswer: (answer: Answer) => void;
}

/** Resolves when the answer has ended, in any way. The cost of one that did not end well is reported later. */
export async function ask(clients: PlayClients, asking: Asked): Promise<void> {
  const { model, messages, settings, signal, onAnswer } = asking;
  const startedMs = performance.now();
  let answer: Answer = { text: '', state: 'running' };
  const report = (next: Partial<Answer>) => {
    answer = { ...answer, ...next };
    onAnswer(answer);
  };
  const since = () => performance.now() - startedMs;
  const onHeader = (headers: Headers) => {
    const requestId = headers.get('x-request-id');
    if (requestId !== null) report({ requestId });
  };
  report({});
  try {
    const params = paramsOf(model.id, messages, settings);
    for await (const { chunk } of clients.chat.streamChatCompletion({ params }, { signal, onHeader })) {
      const { delta, finishReason: finish } = chunk?.choices[0] ?? {};
      const { content = '', toolCalls = [] } = delta ?? {};
      const isFirst = answer.firstMs === undefined && (content !== '' || toolCalls.length > 0);
      report({
        text: answer.text + content,
        ...(isFirst && { firstMs: since() }),
        ...(toolCalls.length > 0 && { calls: withCalls(answer.calls, toolCalls) }),
        ...(chunk?.usage && tokensOf(chunk.usage)),
        ...(finish !== undefined && { finish }),
      });
    }
    const cost = costOf(model, answer);
    report({ state: 'whole', wholeMs: since(), ...(cost !== undefined && { cost }) });
  } catch (error) {
    if (signal.aborted || isAborted(error)) report({ state: 'stopped', wholeMs: since() });
    else
      report({
        state: 'failed',
        problem: problemOf(clients.note(error), answer.requestId),
        wholeMs: since(),
      });
  }
  if (answer.cost === undefined) void billOf(clients, answer.requestId).then(report);
}

/** Adds the next pieces of calls. */
function withCalls(calls: readonly WantedCall[] = [], pieces: readonly ToolCall[]): readonly WantedCall[] {
  const all = [...calls];
  for (const { index = all.length, function: called, custom } of pieces) {
    const { name, input } = all[index] ?? { name: '', input: '' };
    all[index] = {
      name: name + (called?.name ?? custom?.name ?? ''),
      input: input + (called?.arguments ?? custom?.input ?? ''),
    };
  }
  return all;
}
