/** The text of chat messages, for counting tokens if a model does not report them. */
import type { JsonObject, JsonValue } from '@bufbuild/protobuf';
import type {
  ChatCompletion,
  ChatCompletionChunk,
  ChatCompletionParams,
  ChatDelta,
  ChatMessage,
  Tool,
  ToolCall,
} from '../../../gen/parley/chat/v1/chat_pb.ts';

/** Members in which models send their reasoning. Its tokens are output tokens. */
export const reasoningMembers: readonly string[] = ['reasoning_content', 'reasoning'];

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

export function completionText({ choices }: ChatCompletion): string {
  return choices.map(({ message }) => (message ? messageText(message) : '')).join('');
}

/** The text that a chunk adds to the answer. Empty for a chunk with only a role, a finish reason or usage. */
export function chunkText({ choices }: ChatCompletionChunk): string {
  let text = '';
  for (const { delta } of choices) if (delta) text += deltaText(delta);
  return text;
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

function deltaText({ content, refusal, toolCalls, other }: ChatDelta): string {
  return (content ?? '') + (refusal ?? '') + toolText(toolCalls) + reasoningText(other);
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

/** The reasoning in a message or a delta. */
export function reasoningText(other: JsonObject | undefined): string {
  if (other === undefined) return '';
  const texts: (JsonValue | undefined)[] = reasoningMembers.map((member) => other[member]);
  return texts.find((text) => typeof text === 'string') ?? '';
}
