import { create } from '@bufbuild/protobuf';
import {
  type ChatMessage,
  ChatMessageSchema,
  type ContentPart,
  ContentPartSchema,
  type MessageContent,
  MessageContentSchema,
} from '../../../gen/parley/chat/v1/chat_pb.ts';

/** @param content undefined for a turn that only has calls: servers expect the member, as `null` */
export function said(role: string, content: MessageContent | undefined): ChatMessage {
  return create(ChatMessageSchema, content ? { role, content } : { role, other: { content: null } });
}

export function textContent(value: string): MessageContent {
  return create(MessageContentSchema, { value: { case: 'text', value } });
}

/** A single text becomes a plain string, which every server accepts. */
export function partsContent(items: ContentPart[]): MessageContent {
  const [only] = items;
  if (only === undefined) return textContent('');
  if (items.length === 1 && only.type === 'text' && !only.other) return textContent(only.text ?? '');
  return create(MessageContentSchema, { value: { case: 'parts', value: { items } } });
}

export function toolMessage(toolCallId: string, content: MessageContent): ChatMessage {
  return create(ChatMessageSchema, { role: 'tool', toolCallId, content });
}

/** Servers take only text as the output of a call, so its images and documents are for a message of the user that follows. */
export function splitOutput(
  callId: string,
  parts: readonly ContentPart[],
  lines: readonly string[] = parts.flatMap(({ text }) => text || []),
) {
  const media = parts.filter(({ type }) => type !== 'text');
  if (media.length === 0) return { text: lines.join('\n'), media };
  const origin = create(ContentPartSchema, { type: 'text', text: `From the output of the call ${callId}:` });
  const note = 'The images and documents of this output follow in the next message.';
  return { text: [...lines, note].join('\n'), media: [origin, ...media] };
}

const places = new WeakMap<ChatMessage, string>();

/** Notes the place of the client's request, such as `input[2]`, from which a message was made. @param path undefined for none */
export function placed(message: ChatMessage, path: string | undefined): ChatMessage {
  if (path !== undefined) places.set(message, path);
  return message;
}

/** Undefined for a message that the client sent itself. */
export function placeOf(message: ChatMessage | undefined): string | undefined {
  return message && places.get(message);
}

const instructing: readonly unknown[] = ['system', 'developer'];

/** Joins all system and developer messages into one at the beginning. @returns the messages themselves if they are so */
export function systemFirst(messages: ChatMessage[]): ChatMessage[] {
  const isInstructing = ({ role }: ChatMessage) => instructing.includes(role);
  const [first, ...more] = messages.filter(isInstructing);
  if (first === undefined || (more.length === 0 && messages[0] === first)) return messages;
  const content = joined([first, ...more]);
  const system = placed({ ...first, content }, placeOf(first));
  return [system, ...messages.filter((message) => !isInstructing(message))];
}

const interrupted = 'No output: the call was interrupted.';

/** Servers refuse a call without an output that another message follows: a person may have interrupted an agent there. */
export function withOutputs(messages: readonly ChatMessage[]): ChatMessage[] {
  const answered = new Set(messages.map(({ toolCallId }) => toolCallId));
  let open: ChatMessage[] = [];
  return messages.flatMap((message) => {
    if (message.role === 'tool') return [message];
    const missing = open;
    open = message.toolCalls.flatMap(({ id }) =>
      id && !answered.has(id) ? [placed(toolMessage(id, textContent(interrupted)), placeOf(message))] : [],
    );
    return [...missing, message];
  });
}

/** Plain texts are joined to one, with an empty line between them. */
function joined(messages: readonly ChatMessage[]): MessageContent {
  const parts = messages.flatMap(({ content }) => partsOf(content));
  const texts = parts.flatMap(({ type, text, other }) => (type === 'text' && !other ? (text ?? '') : []));
  return texts.length === parts.length ? textContent(texts.join('\n\n')) : partsContent(parts);
}

function partsOf(content: MessageContent | undefined): readonly ContentPart[] {
  const { value } = content ?? {};
  if (value?.case === 'text') return [create(ContentPartSchema, { type: 'text', text: value.value })];
  return value?.case === 'parts' ? value.value.items : [];
}
