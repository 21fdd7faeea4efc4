/** Converts the request, and the items of its conversation, to those of a chat. */
import { create, type JsonObject } from '@bufbuild/protobuf';
import type { Value } from '@bufbuild/protobuf/wkt';
import * as chat from '../../../gen/parley/chat/v1/chat_pb.ts';
import * as pb from '../../../gen/parley/responses/v1/responses_pb.ts';
import {
  partsContent,
  placed,
  placeOf,
  said,
  splitOutput,
  textContent,
  toolMessage,
} from '../chat/chat-messages.ts';
import { checkLimit } from '../chat/checks.ts';
import { EarlierReasoning, type OpenReasoning } from '../chat/reasoning.ts';
import { ParleyError } from '../values/errors.ts';
import { invalid, invalidInput, readOneOf } from '../values/parameters.ts';
import { quote } from '../values/quote.ts';
import { Tools } from './tools.ts';

const formatTypes = ['text', 'json_object', 'json_schema'];
const logprobsValue = 'message.output_text.logprobs';

/**
 * Parameters that do not reach the model as they are: all of this API, and those that would produce answers that nobody
 * receives.
 */
const ownNames: ReadonlySet<string> = new Set([
  ...pb.ResponseParamsSchema.fields.map(({ jsonName }) => jsonName),
  ...['n', 'n_cmpl'],
]);

/**
 * Checks the parameters that only this API has. The rest is checked as in any chat.
 * @param open reads the reasoning of earlier answers. Default: it is dropped
 * @throws `missing_input`, `invalid_input`, `invalid_parameter`
 */
export function toChatParams(params: pb.ResponseParams, open?: OpenReasoning): chat.ChatCompletionParams {
  const { model, input, instructions, text, reasoning, toolChoice } = params;
  refuseStored(params);
  checkLimit('max_output_tokens', params.maxOutputTokens);
  const tools = Tools.of(params.tools);
  const chatTools = tools.toChat();
  return create(chat.ChatCompletionParamsSchema, {
    model,
    temperature: params.temperature,
    topP: params.topP,
    topLogprobs: params.topLogprobs,
    // Servers refuse it without tools.
    parallelToolCalls:
      params.tools.length > 0 && chatTools.length === 0 ? undefined : params.parallelToolCalls,
    user: params.user,
    safetyIdentifier: params.safetyIdentifier,
    promptCacheKey: params.promptCacheKey,
    serviceTier: params.serviceTier,
    messages: toMessages(input, { instructions, tools, open }),
    tools: chatTools,
    toolChoice: hasValue(toolChoice) ? tools.toChoice(toolChoice) : undefined,
    maxCompletionTokens: params.maxOutputTokens,
    responseFormat: text?.format && toResponseFormat(text.format),
    verbosity: text?.verbosity,
    reasoningEffort: reasoning?.effort,
    logprobs: params.include.includes(logprobsValue) || (params.topLogprobs ?? 0) > 0 || undefined,
    other: passedOn(params.other),
  });
}

function refuseStored({ previousResponseId, conversation, prompt, background }: pb.ResponseParams): void {
  const history = 'responses. Send the whole conversation as `input`.';
  const refused = {
    previous_response_id: previousResponseId !== undefined && history,
    conversation: hasValue(conversation) && history,
    prompt: hasValue(prompt) && 'prompts. Send `instructions` and `input`.',
    background: background === true && 'responses to be fetched later. Use `stream`.',
  };
  for (const [name, what] of Object.entries(refused))
    if (what) throw invalid(name, `\`${name}\` has no meaning here: this server stores no ${what}`);
}

/** A `null` counts as absent. */
function hasValue(value: Value | undefined): value is Value {
  return value !== undefined && value.kind.case !== undefined && value.kind.case !== 'nullValue';
}

/** Undefined for plain text, every model's default. */
function toResponseFormat(format: pb.TextFormat): chat.ResponseFormat | undefined {
  const { type = 'text', name, description, schema, strict } = format;
  readOneOf('text.format.type', type, formatTypes);
  if (type === 'text') return undefined;
  if (type === 'json_object') return create(chat.ResponseFormatSchema, { type });
  return create(chat.ResponseFormatSchema, { type, jsonSchema: { name, description, schema, strict } });
}

/** Unknown parameters reach the model as those of a chat. `null` is left out: it is the default here, but not on every server. */
function passedOn(other: JsonObject = {}): JsonObject {
  const kept = Object.entries(other).filter(([name, value]) => value !== null && !ownNames.has(name));
  return Object.fromEntries(kept);
}

const itemTypes =
  'message, function_call, function_call_output, custom_tool_call, custom_tool_call_output or reasoning';
/** Items that no chat has. */
const withoutMessage: ReadonlySet<string> = new Set([
  ...['compaction', 'compaction_summary', 'compaction_trigger', 'context_compaction'],
  ...['additional_tools', 'configuration_update', 'ghost_snapshot', 'program', 'program_output'],
  ...['mcp_list_tools', 'mcp_approval_request', 'mcp_approval_response'],
]);
const partTypes =
  'input_text, output_text, text, refusal, input_image with an image_url, input_file with file_data or a file_id, or input_audio';

interface Conversion {
  readonly instructions: string | undefined;
  readonly tools: Tools;
  /** Default: reasoning is dropped. */
  readonly open: OpenReasoning | undefined;
}

/** @throws `missing_input`; `invalid_input` for no items, or for an item or a part that a chat cannot express */
function toMessages(
  input: pb.ResponseInput | undefined,
  { instructions, tools, open }: Conversion,
): chat.ChatMessage[] {
  const messages =
    instructions === undefined ? [] : [placed(said('system', textContent(instructions)), 'instructions')];
  switch (input?.value.case) {
    case 'text':
      if (input.value.value.trim() === '') throw invalidInput('input', '`input` is empty. Send a text.');
      return [...messages, placed(said('user', textContent(input.value.value)), 'input')];
    case 'items':
      addItems(messages, input.value.value.items, tools, new EarlierReasoning(open));
      return messages;
    default:
      throw new ParleyError('missing_input', {
        message: 'Send `input`, a text or a list of items.',
        param: 'input',
      });
  }
}

function addItems(
  messages: chat.ChatMessage[],
  items: readonly pb.ResponseItem[],
  tools: Tools,
  earlier: EarlierReasoning,
): void {
  if (items.length === 0) throw invalidInput('input', '`input` is empty. Send at least one item.');
  const outputs = new Outputs(messages);
  for (const [index, item] of items.entries()) {
    const path = `input[${index}]`;
    const { type = 'message' } = item;
    if (!type.endsWith('_output') && type !== 'reasoning') outputs.close();
    switch (type) {
      case 'reasoning':
        earlier.take(item.encryptedContent);
        break;
      case 'message':
        addMessage(messages, toMessage(item, path));
        break;
      case 'function_call':
      case 'custom_tool_call':
        turnOf(messages).toolCalls.push(toToolCall(item, path, tools));
        break;
      case 'function_call_output':
      case 'custom_tool_call_output':
        addOutput(outputs, item, path);
        break;
      default:
        addForeign(messages, outputs, item, path);
    }
    const last = messages.at(-1);
    if (last && placeOf(last) === undefined) placed(last, path);
    if (last?.role === 'assistant') earlier.giveTo(last);
    else if (item.type !== 'reasoning') earlier.drop();
  }
  outputs.close();
  if (messages.length === 0)
    throw invalidInput('input', '`input` has only items that no chat has. Send a message as well.');
}

/** The text and the calls of one turn belong to one message, in either order. */
function addMessage(messages: chat.ChatMessage[], message: chat.ChatMessage): void {
  const last = messages.at(-1);
  if (last?.role === 'assistant' && message.role === 'assistant' && last.content === undefined) {
    const { content: _, ...other } = last.other ?? {};
    messages[messages.length - 1] = { ...message, toolCalls: last.toolCalls, other };
  } else messages.push(message);
}

/** Puts the outputs of calls into the conversation. */
class Outputs {
  readonly #messages: chat.ChatMessage[];
  #media: chat.ContentPart[] = [];
  #path = '';

  constructor(messages: chat.ChatMessage[]) {
    this.#messages = messages;
  }

  /** Servers want an output behind its call, also if the client has it after what a person said meanwhile. */
  add(callId: string, content: chat.MessageContent, path: string): void {
    const { text, media } = splitOutput(
      callId,
      content.value.case === 'parts' ? content.value.value.items : [],
    );
    const message = placed(toolMessage(callId, media.length > 0 ? textContent(text) : content), path);
    const messages = this.#messages;
    let at = 1 + messages.findLastIndex(({ toolCalls }) => toolCalls.some(({ id }) => id === callId));
    while (at > 0 && messages[at]?.role === 'tool') at++;
    messages.splice(at === 0 ? messages.length : at, 0, message);
    this.#media.push(...media);
    this.#path = path;
  }

  /** Adds the images and documents of the outputs so far. */
  close(): void {
    if (this.#media.length === 0) return;
    this.#messages.push(placed(said('user', partsContent(this.#media)), this.#path));
    this.#media = [];
  }
}

/** The message of the assistant to which the next call belongs. */
function turnOf(messages: chat.ChatMessage[]): chat.ChatMessage {
  const last = messages.at(-1);
  if (last?.role === 'assistant') return last;
  const turn = said('assistant', undefined);
  messages.push(turn);
  return turn;
}

/**
 * Calls of built-in tools and their outputs, if the client ran them: these have an id. The message after calls that ran at another server
 * has their result.
 */
function addForeign(
  messages: chat.ChatMessage[],
  outputs: Outputs,
  item: pb.ResponseItem,
  path: string,
): void {
  const { type = '', callId, id, arguments: given, output, other = {} } = item;
  if (withoutMessage.has(type)) return;
  const [, tool, kind] = /^(\w+?)(_call|_call_output|_output)$/.exec(type) ?? [];
  if (tool === undefined) throw invalidInput(`${path}.type`, unknownItem(path, type));
  if (kind === '_call') {
    const called = { name: tool, arguments: given ?? JSON.stringify(other) };
    if (callId)
      turnOf(messages).toolCalls.push(
        create(chat.ToolCallSchema, { id: callId, type: 'function', function: called }),
      );
  } else {
    const content = output ? toContent(output, `${path}.output`) : textContent(JSON.stringify(other));
    const answered = callId ?? id;
    if (answered) outputs.add(answered, content, path);
  }
}

function unknownItem(path: string, type = ''): string {
  return type === 'item_reference'
    ? `\`${path}\` refers to a stored item, but this server stores none. Send the item itself, as some clients do with \`store: false\`.`
    : `\`${path}.type\` is ${quote(type)}. Items must be of the type ${itemTypes}.`;
}

function toMessage({ role, content }: pb.ResponseItem, path: string): chat.ChatMessage {
  if (role === undefined || role.trim() === '') {
    throw invalidInput(`${path}.role`, `\`${path}\` has no role. Send \`role\` and \`content\`.`);
  }
  if (content === undefined) throw invalidInput(`${path}.content`, `\`${path}\` has no content.`);
  return said(role, toContent(content, `${path}.content`));
}

function toToolCall(item: pb.ResponseItem, path: string, tools: Tools) {
  const { type, callId: id, namespace, arguments: given = '{}', input = '' } = item;
  if (!id) throw invalidInput(`${path}.call_id`, `\`${path}\` has no \`call_id\`.`);
  if (!item.name) throw invalidInput(`${path}.name`, `\`${path}\` has no \`name\`.`);
  const name = tools.chatName({ name: item.name, namespace });
  return create(
    chat.ToolCallSchema,
    type === 'custom_tool_call'
      ? { id, type: 'custom', custom: { name, input } }
      : { id, type: 'function', function: { name, arguments: given } },
  );
}

function addOutput(outputs: Outputs, { callId, output }: pb.ResponseItem, path: string): void {
  if (!callId) throw invalidInput(`${path}.call_id`, `\`${path}\` has no \`call_id\`.`);
  if (output === undefined) throw invalidInput(`${path}.output`, `\`${path}\` has no \`output\`.`);
  outputs.add(callId, toContent(output, `${path}.output`), path);
}

function toContent({ value }: pb.ResponseContent, path: string): chat.MessageContent {
  if (value.case === 'text') return textContent(value.value);
  const parts = value.case === 'parts' ? value.value.items : [];
  // The model gets the transcript of its audio, which is a text.
  const isSent = ({ type }: pb.ResponseContentPart) => type !== 'output_audio';
  return partsContent(parts.flatMap((part, at) => (isSent(part) ? toPart(part, `${path}[${at}]`) : [])));
}

function toPart(part: pb.ResponseContentPart, path: string): chat.ContentPart {
  const { type, text, refusal, imageUrl: url, detail, fileData, fileId, filename, inputAudio } = part;
  switch (type) {
    case 'input_text':
    case 'output_text':
    case 'text':
      return create(chat.ContentPartSchema, { type: 'text', text: text ?? '' });
    case 'refusal':
      return create(chat.ContentPartSchema, { type, refusal: refusal ?? '' });
    case 'input_image':
      if (url === undefined) break;
      return create(chat.ContentPartSchema, { type: 'image_url', imageUrl: { url, detail } });
    case 'input_file':
      if (fileData === undefined && fileId === undefined) break;
      return create(chat.ContentPartSchema, { type: 'file', file: { fileData, fileId, filename } });
    case 'input_audio':
      if (inputAudio === undefined) break;
      return create(chat.ContentPartSchema, { type, inputAudio });
  }
  throw invalidInput(path, `\`${path}\` cannot be sent to a model. Parts must be of the type ${partTypes}.`);
}
