import type { ChatMessage, MessageContent } from '../../../../gen/parley/chat/v1/chat_pb.ts';

export interface UserMessage {
  /** The end of the text, at most `textUnitsMax` UTF-16 code units. */
  readonly text: string;
  /** Whether the text was longer. */
  readonly isCut: boolean;
  /** Whether there was an image, audio or a file. */
  readonly hasAttachment: boolean;
}

/** The user messages of a request. */
export interface Conversation {
  readonly latest: UserMessage | undefined;
  /** The messages before it, oldest first, at most `earlierMax`. */
  readonly earlier: readonly UserMessage[];
  /** The number of messages before `earlier`. */
  readonly forgotten: number;
}

const textUnitsMax = 1000;
const earlierMax = 12;

export function conversationOf(messages: readonly ChatMessage[]): Conversation {
  const users = messages.filter((message) => message.role === 'user');
  const last = users.slice(-1 - earlierMax).map((message) => userMessage(message.content));
  return { latest: last.at(-1), earlier: last.slice(0, -1), forgotten: users.length - last.length };
}

/** The texts of a message: its string, or each of its text parts. */
export function textsOf(content: MessageContent | undefined): readonly string[] {
  switch (content?.value.case) {
    case 'text':
      return [content.value.value];
    case 'parts':
      return content.value.value.items.flatMap((part) => (part.text === undefined ? [] : [part.text]));
    default:
      return [];
  }
}

function userMessage(content: MessageContent | undefined): UserMessage {
  const texts = textsOf(content);
  const units = texts.reduce((sum, text) => sum + text.length, 0);
  return { text: endOf(texts), isCut: units > textUnitsMax, hasAttachment: hasOtherParts(content) };
}

/** The end of the texts, joined by line breaks. */
function endOf(texts: readonly string[]): string {
  const kept: string[] = [];
  let left = textUnitsMax;
  for (let at = texts.length - 1; at >= 0 && left > 0; at--) {
    const text = (texts[at] ?? '').slice(-left);
    kept.unshift(text);
    left -= text.length;
  }
  return kept.join('\n');
}

function hasOtherParts(content: MessageContent | undefined): boolean {
  if (content?.value.case !== 'parts') return false;
  return content.value.value.items.some((part) => part.text === undefined);
}
