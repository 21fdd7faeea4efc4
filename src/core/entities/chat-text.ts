/** The text of chat messages, for counting tokens if a model does not report them. */
import type {
  ChatCompletion,
  ChatCompletionChunk,
  ChatCompletionParams,
  ChatMessage,
  ContentPart,
  Tool,
  ToolCall,
} from '../../../gen/parley/chat/v1/chat_pb.ts';
import { type ChatOutput, OutputReader, reasoningText } from './chat-output.ts';

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

export function completionOutput({ choices }: ChatCompletion): ChatOutput {
  const output = new OutputReader();
  for (const { message, logprobs } of choices) {
    const before = output.text;
    if (message) addMessage(output, message);
    output.addTokens(logprobs?.content.map(({ token }) => token) ?? [], before);
  }
  return output;
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

function addMessage(output: OutputReader, { content, refusal, toolCalls, audio, other }: ChatMessage): void {
  if (content?.value.case === 'text') output.addText(content.value.value);
  const parts = content?.value.case === 'parts' ? content.value.value.items : [];
  for (const [index, part] of parts.entries()) {
    if (index > 0) output.text += '\n';
    addPart(output, part);
  }
  output.addText(refusal);
  addCalls(output, toolCalls);
  output.addText(audio?.transcript);
  output.addValue(audio?.data, 'data');
  if (other) output.addMembers(other);
}

function addPart(
  output: OutputReader,
  { text, refusal, imageUrl, inputAudio, file, other }: ContentPart,
): void {
  output.addText(text);
  output.addText(refusal);
  if (imageUrl ?? inputAudio ?? file) output.addValue('media', 'data');
  if (other) output.addMembers(other);
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
