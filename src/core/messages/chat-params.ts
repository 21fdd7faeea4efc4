/** Converts the request, and its messages of blocks, to those of a chat. */
import { create, fromJson, type JsonObject, type JsonValue, toJson } from '@bufbuild/protobuf';
import { type Value, ValueSchema } from '@bufbuild/protobuf/wkt';
import * as chat from '../../../gen/parley/chat/v1/chat_pb.ts';
import * as pb from '../../../gen/parley/messages/v1/messages_pb.ts';
import { partsContent, placed, said, splitOutput, textContent, toolMessage } from '../chat/chat-messages.ts';
import { namesOf, refuseForced } from '../chat/checks.ts';
import { EarlierReasoning, type OpenReasoning } from '../chat/reasoning.ts';
import { flat } from '../entities/chat-output.ts';
import type { ChatModel } from '../entities/model.ts';
import { ParleyError } from '../values/errors.ts';
import { present, wellFormedJson } from '../values/json.ts';
import { invalid } from '../values/parameters.ts';
import { quote } from '../values/quote.ts';

/**
 * Checks the parameters that only this API has. The rest is checked as in any chat.
 * @param asked how requests for thinking reach the model
 * @param open reads the reasoning of earlier answers. Default: it is dropped
 * @param takesBlocks whether the model takes contents as this API has them
 * @throws `missing_messages`, `invalid_messages`, `invalid_parameter`
 */
export function toChatParams(
  params: pb.MessageParams,
  asked: ChatModel['thinking'] = 'effort',
  open?: OpenReasoning,
  takesBlocks = false,
): chat.ChatCompletionParams {
  const { model, maxTokens, topK, toolChoice, outputConfig, stopSequences: items } = params;
  checkLimit(maxTokens);
  return create(chat.ChatCompletionParamsSchema, {
    model,
    maxTokens,
    temperature: params.temperature,
    topP: params.topP,
    messages: toMessages(params, open, takesBlocks),
    stop: items.length === 0 ? undefined : { value: { case: 'list', value: { items } } },
    tools: params.tools.flatMap((tool, index) => (isOwn(tool) ? toTool(tool, index, takesBlocks) : [])),
    toolChoice: toolChoice && toToolChoice(toolChoice, params.tools),
    // Servers refuse it without tools.
    parallelToolCalls: toolChoice?.disableParallelToolUse && !isNoneLeft(params.tools) ? false : undefined,
    reasoningEffort: asked === 'none' ? undefined : outputConfig?.effort,
    responseFormat: outputConfig?.format && toResponseFormat(outputConfig.format),
    other: present({
      top_k: topK,
      thinking: asked === 'parameter' ? params.thinking : undefined,
      anthropic_beta: takesBlocks && params.betas.length > 0 ? params.betas : undefined,
    }),
  });
}

function checkLimit(value: number | undefined): void {
  if (value === undefined || (Number.isSafeInteger(value) && value >= 1)) return;
  throw invalid('max_tokens', '`max_tokens` must be a whole number above 0.');
}

function isOwn({ type }: Pick<pb.MessageTool, 'type'>): boolean {
  return type === undefined || type === 'custom';
}

function isNoneLeft(tools: readonly pb.MessageTool[]): boolean {
  return tools.length > 0 && !tools.some(isOwn);
}

/** The types of built-in tools, which are not offered to the model. */
export function droppedTools({ tools }: pb.MessageParams): string {
  return namesOf(tools.flatMap((tool) => (isOwn(tool) ? [] : (tool.type ?? ''))));
}

function toTool(
  { name, description, inputSchema, strict, cacheControl }: pb.MessageTool,
  index: number,
  takesBlocks: boolean,
): chat.Tool {
  const path = `tools[${index}]`;
  if (!name) throw invalid(`${path}.name`, `\`${path}\` has no \`name\`.`);
  return create(chat.ToolSchema, {
    type: 'function',
    function: { name, description, parameters: inputSchema, strict },
    other: takesBlocks && cacheControl ? { cache_control: cacheControl } : undefined,
  });
}

/** @returns undefined if there is nothing left to choose from */
function toToolChoice(
  { type, name }: pb.MessageToolChoice,
  tools: readonly pb.MessageTool[],
): Value | undefined {
  const choice = chatChoice(type, name);
  const named = tools.find((tool) => tool.name === name);
  if (type === 'tool' && named && !isOwn(named)) refuseForced(name ?? '');
  if (!isNoneLeft(tools)) return fromJson(ValueSchema, choice);
  if (type === 'any') refuseForced(namesOf(tools.map((tool) => tool.type ?? '')));
  return undefined;
}

function chatChoice(type: string | undefined, name: string | undefined): JsonValue {
  if (type === 'auto' || type === 'none') return type;
  if (type === 'any') return 'required';
  if (type === 'tool' && name) return { type: 'function', function: { name } };
  throw invalid('tool_choice', '`tool_choice.type` must be auto, any, none, or tool with a `name`.');
}

function toResponseFormat({ type, schema }: pb.OutputFormat): chat.ResponseFormat {
  if (type !== 'json_schema') {
    throw invalid('output_config.format.type', '`output_config.format.type` must be json_schema.');
  }
  return create(chat.ResponseFormatSchema, { type, jsonSchema: { name: 'output', schema, strict: true } });
}

const roles: readonly unknown[] = ['user', 'assistant', 'system'];
const blockTypes =
  'text, image with a source of the type base64 or url, or document with one of the type base64, text or content';

/** @throws `invalid_messages` for a message or a block that a chat cannot express; no messages give none */
function toMessages(
  { system, messages }: pb.MessageParams,
  open?: OpenReasoning,
  takesBlocks = false,
): chat.ChatMessage[] {
  if (messages.length === 0) return [];
  const converted = messages.flatMap((message, index) => {
    const path = `messages[${index}]`;
    return toChatMessages(message, path, { open, takesBlocks }).map((made) => placed(made, path));
  });
  const parts = system ? systemParts(system, takesBlocks) : [];
  return parts.length > 0 ? [placed(said('system', partsContent(parts)), 'system'), ...converted] : converted;
}

/** A line of Claude Code for its maker's accounting. It differs by conversation, so caches of prompts would not match. */
const billingLine = /^x-anthropic-billing-header:.*(\n|$)/;

function systemParts(system: pb.BlockContent, takesBlocks: boolean): chat.ContentPart[] {
  return toParts(system, 'system', takesBlocks).flatMap((part) => {
    const text = part.text?.replace(billingLine, '');
    if (text === part.text) return [part];
    return text ? [{ ...part, text }] : [];
  });
}

/** The outputs of calls are messages of their own, before the rest of their message. */
function toChatMessages(
  { role = '', content }: pb.InputMessage,
  path: string,
  { open, takesBlocks }: { readonly open: OpenReasoning | undefined; readonly takesBlocks: boolean },
): chat.ChatMessage[] {
  if (!roles.includes(role)) {
    throw invalidMessages(`${path}.role`, `\`${path}.role\` must be user, assistant or system.`);
  }
  if (content === undefined) throw invalidMessages(`${path}.content`, `\`${path}\` has no content.`);
  const outputs: chat.ChatMessage[] = [];
  const toolCalls: chat.ToolCall[] = [];
  const parts: chat.ContentPart[] = [];
  const earlier = new EarlierReasoning(open);
  for (const [index, block] of blocksOf(content).entries()) {
    const place = `${path}.content[${index}]`;
    if (block.type === 'tool_result') {
      if (takesBlocks) {
        outputs.push(wholeOutput(block, place));
        continue;
      }
      const { text, media } = readOutput(block, place);
      outputs.push(toolMessage(block.toolUseId ?? '', textContent(text)));
      parts.push(...media);
    } else if (block.type === 'tool_use') toolCalls.push(toToolCall(block, place));
    else if (isThinking(block)) earlier.take(block.signature || block.data);
    else parts.push(toPart(block, place, takesBlocks));
  }
  const spoken = parts.length > 0 ? partsContent(parts) : undefined;
  if (spoken || toolCalls.length > 0) {
    const message = { ...said(role, spoken), toolCalls };
    if (role === 'assistant') earlier.giveTo(message);
    return [...outputs, message];
  }
  return outputs.length > 0 ? outputs : [said(role, textContent(''))];
}

function isThinking({ type }: pb.ContentBlock): boolean {
  return type === 'thinking' || type === 'redacted_thinking';
}

function toToolCall({ id, name, input = {} }: pb.ContentBlock, path: string) {
  if (!id) throw invalidMessages(`${path}.id`, `\`${path}\` has no \`id\`.`);
  if (!name) throw invalidMessages(`${path}.name`, `\`${path}\` has no \`name\`.`);
  const call = { id, type: 'function', function: { name, arguments: wellFormedJson(input) } };
  return create(chat.ToolCallSchema, call);
}

/** For a model that takes images and failures in the output of a call. */
function wholeOutput(
  { toolUseId, content, isError, other }: pb.ContentBlock,
  path: string,
): chat.ChatMessage {
  if (!toolUseId) throw invalidMessages(`${path}.tool_use_id`, `\`${path}\` has no \`tool_use_id\`.`);
  const parts = content ? toParts(content, `${path}.content`, true) : [];
  const members = present({ cache_control: other?.['cache_control'], is_error: isError });
  return Object.assign(toolMessage(toolUseId, partsContent(parts)), { other: members });
}

function readOutput({ toolUseId, content, isError, other }: pb.ContentBlock, path: string) {
  if (!toolUseId) throw invalidMessages(`${path}.tool_use_id`, `\`${path}\` has no \`tool_use_id\`.`);
  const parts = content ? toParts(content, `${path}.content`) : [];
  const { text, media } = splitOutput(toolUseId, parts, content ? undefined : linesOf(other?.['content']));
  return { text: isError ? `Error: ${text}` : text, media };
}

function toParts(content: pb.BlockContent, path: string, takesBlocks = false): chat.ContentPart[] {
  return blocksOf(content).map((block, index) =>
    toPart(block, content.value.case === 'text' ? path : `${path}[${index}]`, takesBlocks),
  );
}

/** A text counts as one block. */
function blocksOf({ value }: pb.BlockContent): readonly pb.ContentBlock[] {
  if (value.case === 'blocks') return value.value.items;
  return value.case === 'text' ? [create(pb.ContentBlockSchema, { type: 'text', text: value.value })] : [];
}

function toPart(block: pb.ContentBlock, path: string, takesBlocks = false): chat.ContentPart {
  return takesBlocks ? wholePart(block, path) : plainPart(block, path);
}

/** With its members for caches and citations. Documents and blocks that only this API has stay as they are. */
function wholePart(block: pb.ContentBlock, path: string): chat.ContentPart {
  const { type, other } = block;
  if (type === 'document' || (type && textTypes.test(type))) {
    const { type: _, ...members } = blockJson(block);
    return create(chat.ContentPartSchema, { type, other: members });
  }
  return Object.assign(plainPart(block, path), { other });
}

function blockJson(block: pb.ContentBlock): JsonObject {
  const { content: _, ...members } = flat(toJson(pb.ContentBlockSchema, block));
  const content = block.content && contentJson(block.content);
  return { ...members, ...present({ input: block.input, content }) };
}

function contentJson({ value }: pb.BlockContent): JsonValue | undefined {
  return value.case === 'blocks' ? value.value.items.map(blockJson) : value.value;
}

function plainPart(block: pb.ContentBlock, path: string): chat.ContentPart {
  const { type, text, source, title } = block;
  const { type: form, mediaType, data, url } = source ?? {};
  const embedded = form === 'base64' && mediaType && data ? `data:${mediaType};base64,${data}` : undefined;
  switch (type) {
    case 'text':
      return textPart(text ?? '');
    case 'image': {
      const address = embedded ?? (form === 'url' ? url : undefined);
      if (!address) break;
      return create(chat.ContentPartSchema, { type: 'image_url', imageUrl: { url: address } });
    }
    case 'document':
      if (form === 'text' && data) return textPart(data);
      if (form === 'content') return textPart(linesOf(toJson(pb.ContentBlockSchema, block)).join('\n'));
      if (!embedded) break;
      return create(chat.ContentPartSchema, { type: 'file', file: { fileData: embedded, filename: title } });
  }
  if (type && textTypes.test(type)) return textPart(linesOf(toJson(pb.ContentBlockSchema, block)).join('\n'));
  throw invalidMessages(
    path,
    `\`${path}\` of the type ${quote(type ?? '')} cannot be sent to a model here. Blocks must be of the type ${blockTypes}.`,
  );
}

function textPart(text: string): chat.ContentPart {
  return create(chat.ContentPartSchema, { type: 'text', text });
}

/** Blocks without a counterpart in a chat: search results, summaries, and tools that another server ran. */
const textTypes =
  /^(search_result|tool_reference|container_upload|compaction|server_tool_use|mcp_tool_use|\w+_tool_result)$/;
/** Their members for a model, in the order of its text. */
const textMembers = [
  ...['tool_name', 'name', 'title', 'url', 'source', 'input', 'text'],
  ...['stdout', 'stderr', 'error_code', 'file_id'],
  ...['other', 'content', 'blocks', 'items', 'tool_references'],
];

function linesOf(json: JsonValue | undefined): string[] {
  if (typeof json === 'string') return json === '' ? [] : [json];
  if (Array.isArray(json)) return json.flatMap(linesOf);
  if (typeof json !== 'object' || json === null) return [];
  const data = json['type'] === 'text' ? linesOf(json['data']) : [];
  const lines = textMembers.flatMap((name) =>
    name === 'input' && json[name] ? [wellFormedJson(json[name])] : linesOf(json[name]),
  );
  return [...data, ...lines];
}

function invalidMessages(param: string, message: string): ParleyError {
  return new ParleyError('invalid_messages', { message, param });
}
