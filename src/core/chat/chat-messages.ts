/** Builds messages of a chat for APIs of another form. */
import { create } from '@bufbuild/protobuf';
import {
  type ChatMessage,
  ChatMessageSchema,
  type ContentPart,
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
  if (items.length === 1 && only.type === 'text') return textContent(only.text ?? '');
  return create(MessageContentSchema, { value: { case: 'parts', value: { items } } });
}

/** The output of a call. */
export function toolMessage(toolCallId: string, content: MessageContent): ChatMessage {
  return create(ChatMessageSchema, { role: 'tool', toolCallId, content });
}
