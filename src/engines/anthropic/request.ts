/** Turns a chat into a request of the Messages API. */
import type { JsonObject, JsonValue } from '@bufbuild/protobuf';
import {
  type ChatCompletionParams,
  ChatCompletionParamsSchema,
} from '../../../gen/parley/chat/v1/chat_pb.ts';
import { jsonCodec } from '../../codec/codec.ts';
import { objectsOf, stringOf } from '../../codec/shape.ts';
import { isObject, parsedObject, present, wellFormedJson } from '../../core/values/json.ts';
import { invalid } from '../../core/values/parameters.ts';
import { applyParameters, type ChatParameters } from '../openai/chat/operator-members.ts';

const paramsCodec = jsonCodec(ChatCompletionParamsSchema);

interface RequestForm {
  /** The upstream's name of the model. */
  readonly model: string;
  readonly stream: boolean;
  readonly parameters: ChatParameters;
}

/** @throws `invalid_parameter` for what the Messages API lacks: several answers, tools that are no functions */
export function toRequest(params: ChatCompletionParams, form: RequestForm): JsonObject {
  const chat = paramsCodec.encode(params);
  if (!isObject(chat)) throw new Error('the parameters are not an object');
  if (typeof chat['n'] === 'number' && chat['n'] > 1)
    throw invalid('n', 'This model gives one answer: `n` must be 1.');
  const { system, messages } = toMessages(objectsOf(chat['messages']));
  const format = chat['response_format'];
  const schema =
    isObject(format) && isObject(format['json_schema']) ? format['json_schema']['schema'] : undefined;
  const output = present({
    effort: chat['reasoning_effort'],
    format: schema && { type: 'json_schema', schema },
  });
  const tools = objectsOf(chat['tools']).map(toTool);
  const { temperature, user } = chat;
  const request = present({
    max_tokens: chat['max_tokens'] ?? chat['max_completion_tokens'],
    system: system.length > 0 ? system : undefined,
    messages,
    // A chat has up to 2.
    temperature: typeof temperature === 'number' ? Math.min(temperature, 1) : undefined,
    top_p: chat['top_p'],
    top_k: chat['top_k'],
    stop_sequences: chat['stop'] == null ? undefined : [chat['stop']].flat(),
    tools: tools.length > 0 ? tools : undefined,
    tool_choice:
      tools.length > 0 ? toToolChoice(chat['tool_choice'], chat['parallel_tool_calls']) : undefined,
    thinking: chat['thinking'],
    output_config: Object.keys(output).length > 0 ? output : undefined,
    metadata: typeof user === 'string' ? { user_id: user } : undefined,
  }) as JsonObject;
  applyParameters(request, form.parameters);
  return { ...request, model: form.model, stream: form.stream };
}

/** As bytes, because a string would be kept beside them until the request ends. */
export function toBytes(request: JsonObject): Buffer {
  return Buffer.from(wellFormedJson(request));
}

interface Conversation {
  readonly system: JsonObject[];
  readonly messages: { readonly role: string; readonly content: JsonObject[] }[];
}

/** Messages of the same role that follow each other become one. */
function toMessages(chat: readonly JsonObject[]): Conversation {
  const conversation: Conversation = { system: [], messages: [] };
  for (const message of chat) {
    const { role } = message;
    if (role === 'system' || role === 'developer') conversation.system.push(...toBlocks(message['content']));
    else add(conversation, role === 'assistant' ? role : 'user', blocksOf(message));
  }
  return conversation;
}

function add({ messages }: Conversation, role: string, blocks: JsonObject[]): void {
  const last = messages.at(-1);
  if (last?.role === role) last.content.push(...blocks);
  else if (blocks.length > 0) messages.push({ role, content: blocks });
}

function blocksOf(message: JsonObject): JsonObject[] {
  const content = toBlocks(message['content']);
  if (message['role'] === 'tool') {
    const { tool_call_id: id = '', cache_control: cache, is_error: isError } = message;
    return [
      present({
        type: 'tool_result',
        tool_use_id: id,
        content,
        cache_control: cache,
        is_error: isError,
      }) as JsonObject,
    ];
  }
  if (message['role'] !== 'assistant') return content;
  return [...thinkingOf(message), ...content, ...objectsOf(message['tool_calls']).map(toToolUse)];
}

/** Thinking that an answer of this engine had. The API refuses it without its signature. */
function thinkingOf({ reasoning_details: details }: JsonObject): JsonObject[] {
  return objectsOf(details).flatMap(({ type, thinking, signature, data }): JsonObject[] => {
    if (type === 'thinking' && typeof signature === 'string')
      return [{ type, thinking: thinking ?? '', signature }];
    return type === 'redacted_thinking' && data !== undefined ? [{ type, data }] : [];
  });
}

function toToolUse({ id = '', function: called }: JsonObject): JsonObject {
  const { name = '', arguments: text } = isObject(called) ? called : {};
  return { type: 'tool_use', id, name, input: argumentsOf(stringOf(text)) };
}

/** A call that was cut off has no object. */
function argumentsOf(text = ''): JsonObject {
  return parsedObject(text || '{}') ?? { input: text };
}

/** The API refuses empty texts. */
function toBlocks(content: JsonValue | undefined): JsonObject[] {
  if (typeof content === 'string') return content === '' ? [] : [{ type: 'text', text: content }];
  return objectsOf(content).flatMap((part) =>
    part['type'] === 'text' && part['text'] === '' ? [] : [toBlock(part)],
  );
}

const dataUrl = /^data:([^;,]*)(?:;[^,]*)?,(.*)$/s;

function toBlock(part: JsonObject): JsonObject {
  const { type, image_url: image, file, refusal, ...others } = part;
  if (type === 'image_url')
    return { ...others, type: 'image', source: sourceOf(isObject(image) ? image['url'] : image) };
  if (type === 'refusal') return { type: 'text', text: refusal ?? '' };
  if (type !== 'file' || !isObject(file)) return part;
  const { file_data: data, filename: title } = file;
  return present({ ...others, type: 'document', source: sourceOf(data), title }) as JsonObject;
}

function sourceOf(address: JsonValue | undefined): JsonObject {
  const url = stringOf(address) ?? '';
  const [, type = '', data = ''] = dataUrl.exec(url) ?? [];
  return data === '' ? { type: 'url', url } : { type: 'base64', media_type: type, data };
}

function toTool({ type, function: definition, ...others }: JsonObject, index: number): JsonObject {
  if (type !== 'function' || !isObject(definition)) {
    throw invalid(
      `tools[${index}].type`,
      `This model takes only functions as tools: \`tools[${index}].type\` must be function.`,
    );
  }
  const { name, description, parameters, strict } = definition;
  const inputSchema = parameters ?? { type: 'object', properties: {} };
  return present({
    name,
    description,
    input_schema: inputSchema,
    strict,
    cache_control: others['cache_control'],
  }) as JsonObject;
}

function toToolChoice(
  choice: JsonValue | undefined,
  parallel: JsonValue | undefined,
): JsonObject | undefined {
  const chosen = chosenTool(choice);
  if (parallel !== false || chosen?.['type'] === 'none') return chosen;
  return { ...(chosen ?? { type: 'auto' }), disable_parallel_tool_use: true };
}

function chosenTool(choice: JsonValue | undefined): JsonObject | undefined {
  if (choice === 'required') return { type: 'any' };
  if (choice === 'auto' || choice === 'none') return { type: choice };
  if (!isObject(choice)) return undefined;
  const { name } = isObject(choice['function']) ? choice['function'] : choice;
  return typeof name === 'string' ? { type: 'tool', name } : undefined;
}
