/** The output of an answer, in whatever members a model sends it: its text, for counting tokens, and what cannot be counted. */
import { create, type JsonObject, type JsonValue, toJson } from '@bufbuild/protobuf';
import {
  type ChatCompletion,
  type ChatCompletionChunk,
  ChatCompletionChunkSchema,
  type ChatCompletionParams,
  type ChatMessage,
  ContentPartSchema,
  MessageAudioSchema,
  type Tool,
  type ToolCall,
} from '../../../gen/parley/chat/v1/chat_pb.ts';
import { isObject } from '../values/json.ts';

export interface ChatOutput {
  /** All text, including tool calls, reasoning and members that the schema does not name. */
  readonly text: string;
  /** Whether there is anything but a role, a finish reason or usage. */
  readonly hasOutput: boolean;
  /** Whether there is output whose tokens cannot be counted, such as audio or images. */
  readonly isOpaque: boolean;
}

/** Members in which models send their reasoning. Some send it in several of them at once. */
export const reasoningMembers: ReadonlySet<string> = new Set([
  'reasoning_content',
  'reasoning',
  'reasoning_details',
  'thinking',
  'thinking_blocks',
]);
/** Members whose strings stand for audio, images or encrypted text. */
const opaqueMembers: ReadonlySet<string> = new Set([
  'data',
  'b64_json',
  'image_url',
  'audio_url',
  'file_data',
  'encrypted_content',
]);
/** Members whose plain strings are audio, images or video, or their URLs. */
const mediaMembers: ReadonlySet<string> = new Set(['audio', 'image', 'images', 'video', 'videos', 'b64']);
/** Members whose strings and numbers the model did not write. */
const labels: ReadonlySet<string> = new Set([
  'type',
  'id',
  'index',
  'format',
  'object',
  'role',
  'url',
  'created',
  'expires_at',
]);
const isLabel = (name: string) => labels.has(name) || name.endsWith('signature');

/** Reads the output of an answer member by member. */
export class OutputReader implements ChatOutput {
  text = '';
  hasOutput = false;
  isOpaque = false;

  addText(text: string | undefined): void {
    if (!text) return;
    this.text += text;
    this.hasOutput = true;
  }

  /** Adds members that the schema does not name. */
  addMembers(members: JsonObject): void {
    this.addText(reasoningText(members));
    for (const [name, value] of Object.entries(members)) {
      if (reasoningMembers.has(name)) this.#addUncounted(value);
      else this.addValue(value, name);
    }
  }

  addValue(value: JsonValue | undefined, name = ''): void {
    if (typeof value === 'string') this.#addString(value, name);
    else if (typeof value === 'number') this.hasOutput ||= !isLabel(name);
    else if (Array.isArray(value))
      for (const [index, item] of value.entries()) this.#addItem(item, name, index);
    else if (typeof value === 'object' && value !== null) {
      const isOpaque = opaqueMembers.has(name);
      const isMedia = mediaMembers.has(name);
      for (const [member, part] of Object.entries(value)) {
        this.addValue(part, isOpaque || (isMedia && member === 'url') ? name : member);
      }
    }
  }

  /** Parts of a content with text are lines. A part is read apart from the text before it, which would be copied for each one. */
  #addItem(item: JsonValue, name: string, index: number): void {
    if (name !== 'content' || index === 0) {
      this.addValue(item, name);
      return;
    }
    const before = this.text;
    this.text = '';
    this.addValue(item, name);
    this.text = this.text === '' ? before : `${before}\n${this.text}`;
  }

  /** Adds tokens with logprobs. They repeat the text, where there is any. */
  addTokens(tokens: readonly string[], textBefore: string): void {
    if (tokens.length > 0) this.hasOutput = true;
    if (this.text === textBefore) this.addText(tokens.join(''));
  }

  #addString(text: string, name: string): void {
    if (text === '') return;
    this.hasOutput = true;
    if (opaqueMembers.has(name) || mediaMembers.has(name)) this.isOpaque = true;
    else if (!isLabel(name)) this.text += text;
  }

  /** Adds a value whose text is counted already. */
  #addUncounted(value: JsonValue | undefined): void {
    const output = new OutputReader();
    output.addValue(value);
    this.hasOutput ||= output.hasOutput;
    this.isOpaque ||= output.isOpaque;
  }
}

/** The reasoning in a message or a delta. */
export function reasoningText(members: JsonObject | undefined): string {
  if (members === undefined) return '';
  for (const name of reasoningMembers) {
    if (members[name] == null) continue;
    const reasoning = new OutputReader();
    reasoning.addValue(members[name]);
    if (reasoning.text !== '') return reasoning.text;
  }
  return '';
}

/** All text of a conversation and its tools, one line a message. */
export function promptText({ messages, tools }: ChatCompletionParams): string {
  const spoken = messages.map((message) => `${message.role ?? ''}\n${messageText(message)}`);
  return [...spoken, ...tools.map(definitionText)].join('\n');
}

/** Size of `promptText` in bytes, without building it, as that would copy a long prompt. */
export function promptBytes({ messages, tools }: ChatCompletionParams): number {
  const lineBytes = (line: string) => Buffer.byteLength(line) + 1;
  let bytes = 0;
  for (const message of messages) bytes += lineBytes(message.role ?? '') + lineBytes(messageText(message));
  for (const tool of tools) bytes += lineBytes(definitionText(tool));
  return Math.max(0, bytes - 1);
}

export function chunkOutput({ choices }: ChatCompletionChunk): ChatOutput {
  const output = new OutputReader();
  for (const { delta, logprobs } of choices) {
    const before = output.text;
    output.addText(delta?.content);
    output.addText(delta?.refusal);
    if (delta) addCalls(output, delta.toolCalls);
    if (delta?.other) output.addMembers(delta.other);
    if (logprobs)
      output.addTokens(
        logprobs.content.map(({ token }) => token),
        before,
      );
  }
  return output;
}

function addCalls(output: OutputReader, calls: readonly ToolCall[]): void {
  if (calls.length === 0) return;
  output.hasOutput = true;
  output.addText(toolText(calls));
  for (const { other, function: called, custom } of calls) {
    for (const members of [other, called?.other, custom?.other]) if (members) output.addMembers(members);
  }
}

function messageText({ content, refusal, toolCalls, other }: ChatMessage): string {
  return contentText(content) + (refusal ?? '') + toolText(toolCalls) + reasoningText(other);
}

/** The text of parts, one line each, or the plain text. */
export function contentText(content: ChatMessage['content']): string {
  if (content?.value.case === 'text') return content.value.value;
  const parts = content?.value.case === 'parts' ? content.value.value.items : [];
  return parts.map((part) => part.text ?? '').join('\n');
}

function definitionText({ function: called, custom }: Tool): string {
  const { name = '', description = '' } = custom ?? called ?? {};
  return `${name}\n${description}\n${JSON.stringify(custom?.format ?? called?.parameters ?? {})}`;
}

function toolText(calls: readonly ToolCall[]): string {
  if (calls.length === 0) return '';
  return calls.map(callText).join('');
}

function callText({ function: called, custom }: ToolCall): string {
  return (called?.name ?? '') + (called?.arguments ?? '') + (custom?.name ?? '') + (custom?.input ?? '');
}

/** A plain answer as the only chunk of a stream. */
export function asChunk({
  $typeName: _,
  object: __,
  choices,
  ...members
}: ChatCompletion): ChatCompletionChunk {
  return create(ChatCompletionChunkSchema, {
    ...members,
    choices: choices.map(({ index, message, logprobs, finishReason, other }) => ({
      index,
      logprobs,
      finishReason,
      other,
      delta: message && deltaOf(message),
    })),
  });
}

/** A delta has only text in its content, and no field for audio. */
function deltaOf({ content, refusal, toolCalls, audio, other }: ChatMessage) {
  const items = content?.value.case === 'parts' ? content.value.value.items : [];
  const texts = items.filter(({ text }) => text !== undefined);
  const refusals = items.flatMap((part) => part.refusal ?? []);
  const others = items.filter((part) => part.text === undefined && part.refusal === undefined);
  // A null in a message stands for an absent member.
  const named = Object.entries(other ?? {}).filter(([, value]) => value !== null);
  const members = withParts(
    { ...Object.fromEntries(named), ...(audio && { audio: flat(toJson(MessageAudioSchema, audio)) }) },
    others.map((part) => flat(toJson(ContentPartSchema, part))),
  );
  return {
    content: items.length > 0 ? texts.map(({ text }) => text).join('\n') : contentText(content),
    refusal: refusal ?? (refusals.length > 0 ? refusals.join('\n') : undefined),
    other: Object.keys(members).length > 0 ? members : undefined,
    toolCalls: toolCalls.map((call, index) => ({ ...call, index })),
  };
}

/** With the members that the schema does not name beside the others, as an upstream sends them. */
export function flat(json: JsonValue): JsonObject {
  const { other, ...members } = isObject(json) ? json : {};
  const named = Object.entries(members).map(([name, value]) => [name, isObject(value) ? flat(value) : value]);
  return { ...Object.fromEntries(named), ...(isObject(other) && other) };
}

/** The members of a delta, with parts of a content that are no text: images where clients look for them, and the rest as `parts`. */
export function withParts(members: JsonObject, parts: readonly JsonObject[]): JsonObject {
  const add = (name: string, added: readonly JsonObject[]) => {
    const before = members[name];
    return added.length > 0 && { [name]: [...(Array.isArray(before) ? before : []), ...added] };
  };
  const isImage = (part: JsonObject) => part['image_url'] !== undefined;
  const [images, others] = [parts.filter(isImage), parts.filter((part) => !isImage(part))];
  return { ...members, ...add('images', images), ...add('parts', others) };
}
