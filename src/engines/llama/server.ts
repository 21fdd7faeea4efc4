/** A program that serves a chat model by llama.cpp's library, for the engine that supervises it. */
import { randomInt, randomUUID } from 'node:crypto';
import { isObject } from '../../core/values/json.ts';
import { invalid } from '../../core/values/parameters.ts';
import { createModelServer, type Handle, type ServeOptions } from '../model-server.ts';
import { loadLlama } from './addon.ts';
import { type Generated, type GenerationOptions, Generator } from './generation.ts';

interface ServedChat {
  readonly id: string;
  /** The GGUF file, or the first of its parts. */
  readonly path: string;
  /** Jinja. */
  readonly chatTemplate: string;
}

type Members = Readonly<Record<string, unknown>>;

/** Loads the model and listens. @throws Error if llama.cpp cannot use the file */
export async function serveChat(model: ServedChat, { socketPath, runtime, ...settings }: ServeOptions) {
  const addon = await loadLlama(runtime);
  const generator = await Generator.open(addon, { path: model.path, ...settings });
  const template = new addon.AddonJinjaRenderer(model.chatTemplate);
  const promptOf = (messages: readonly object[]) =>
    // Models that can answer without thinking first do so.
    template.render({ messages, add_generation_prompt: true, enable_thinking: false, ...generator.marks });
  createModelServer('/v1/chat/completions', chatHandle(model.id, generator, promptOf)).listen(socketPath);
}

function chatHandle(
  id: string,
  generator: Generator,
  promptOf: (messages: readonly object[]) => string,
): Handle {
  return async (request, signal) => {
    const body: unknown = await request.json();
    if (!isObject(body)) throw invalid('messages', 'The body must be a JSON object.');
    refuseUnknown(body);
    const prompt = generator.tokensOf(promptOf(messagesOf(body)));
    const parts = generator.generate(prompt, optionsOf(body), signal);
    const about = { id: `chatcmpl-${randomUUID()}`, created: Math.floor(Date.now() / 1000), model: id };
    const answer = { about, promptTokens: prompt.length, parts };
    if (body['stream'] !== true) {
      return { contentType: 'application/json', body: [JSON.stringify(await wholeAnswer(answer))] };
    }
    return { contentType: 'text/event-stream', body: events(answer, body) };
  };
}

/** Members that only llama-server serves, with the values that change nothing. */
const unserved: Readonly<Record<string, (value: unknown) => boolean>> = {
  tools: (value) => Array.isArray(value) && value.length === 0,
  functions: (value) => Array.isArray(value) && value.length === 0,
  n: (value) => value === 1,
  logprobs: (value) => value === false,
  response_format: (value) => isObject(value) && value['type'] === 'text',
};

function refuseUnknown(body: Members): void {
  for (const [member, isNothing] of Object.entries(unserved)) {
    const value = body[member];
    if (value === undefined || value === null || isNothing(value)) continue;
    throw invalid(member, `\`${member}\` needs llama-server.`);
  }
}

function messagesOf({ messages }: Members): object[] {
  if (!Array.isArray(messages)) throw invalid('messages', '`messages` must be a list.');
  return messages.map((message: unknown) => {
    if (!isObject(message)) throw invalid('messages', 'A message must be an object.');
    return { ...message, content: contentOf(message['content']) };
  });
}

function contentOf(content: unknown): string {
  if (!Array.isArray(content)) return typeof content === 'string' ? content : '';
  const texts = content.map((part: unknown) => {
    if (isObject(part) && typeof part['text'] === 'string') return part['text'];
    throw invalid('messages', 'The model reads text alone.');
  });
  return texts.join('\n');
}

/** The defaults are those of llama-server. */
function optionsOf(body: Members): GenerationOptions {
  const number = (member: string) => {
    const value = body[member];
    return typeof value === 'number' ? value : undefined;
  };
  const { stop, logit_bias: biases } = body;
  return {
    tokensMax: number('max_completion_tokens') ?? number('max_tokens'),
    temperature: number('temperature') ?? 0.8,
    topK: number('top_k') ?? 40,
    topP: number('top_p') ?? 0.95,
    minP: number('min_p') ?? 0.05,
    seed: (number('seed') ?? randomInt(2 ** 32)) >>> 0,
    repeatPenalty: number('repeat_penalty') ?? 1,
    presencePenalty: number('presence_penalty') ?? 0,
    frequencyPenalty: number('frequency_penalty') ?? 0,
    biases: Object.entries(isObject(biases) ? biases : {}).map(([token, bias]) => [
      Number(token),
      Number(bias),
    ]),
    stops: [stop].flat().filter((text) => typeof text === 'string'),
  };
}

interface ChatAnswer {
  readonly about: object;
  readonly promptTokens: number;
  readonly parts: AsyncIterable<Generated>;
}

async function wholeAnswer({ about, promptTokens, parts }: ChatAnswer): Promise<object> {
  let content = '';
  let end: Generated | undefined;
  for await (const part of parts) {
    content += part.text;
    end = part;
  }
  const message = { role: 'assistant', content };
  const choices = [{ index: 0, message, finish_reason: end?.finish }];
  return { ...about, object: 'chat.completion', choices, usage: usageOf(promptTokens, end) };
}

async function* events({ about, promptTokens, parts }: ChatAnswer, body: Members): AsyncGenerator<string> {
  const event = (members: object) =>
    `data: ${JSON.stringify({ ...about, object: 'chat.completion.chunk', ...members })}\n\n`;
  const chunk = (delta: object, finish: string | null) =>
    event({ choices: [{ index: 0, delta, finish_reason: finish }] });
  let end: Generated | undefined;
  for await (const part of parts) {
    const delta = { ...(end === undefined && { role: 'assistant' }), content: part.text };
    end = part;
    yield chunk(delta, part.finish ?? null);
  }
  const options = body['stream_options'];
  const wantsUsage = isObject(options) && options['include_usage'] === true;
  if (wantsUsage) yield event({ choices: [], usage: usageOf(promptTokens, end) });
  yield 'data: [DONE]\n\n';
}

function usageOf(promptTokens: number, { tokens = 0 }: Partial<Generated> = {}) {
  return { prompt_tokens: promptTokens, completion_tokens: tokens, total_tokens: promptTokens + tokens };
}
