/** What the rules look at in a request's messages: the last of the user's, and a bounded number of those before. */
import type { ChatMessage, MessageContent } from '../../../../gen/parley/chat/v1/chat_pb.ts';

/** What a user said in one message. */
export interface Turn {
  /** The end of the message's text, at most `textUnitsMax` UTF-16 code units of it. */
  readonly text: string;
  /** Whether there was more text than that. */
  readonly isCut: boolean;
  /** Whether there was something other than text: an image, audio, a file. */
  readonly hasAttachment: boolean;
}

export interface Conversation {
  /** The user's latest message, if there is one. */
  readonly latest: Turn | undefined;
  /** Those before it, oldest first, at most `earlierMax`. */
  readonly earlier: readonly Turn[];
  /** How many of the user's there were before those. */
  readonly forgotten: number;
}

const textUnitsMax = 1000;
const earlierMax = 12;

export function conversationOf(messages: readonly ChatMessage[]): Conversation {
  const users = messages.filter((message) => message.role === 'user');
  const heard = users.slice(-1 - earlierMax);
  const turns = heard.map((message) => turnOf(message.content));
  return { latest: turns.at(-1), earlier: turns.slice(0, -1), forgotten: users.length - heard.length };
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

function turnOf(content: MessageContent | undefined): Turn {
  const texts = textsOf(content);
  const units = texts.reduce((sum, text) => sum + text.length, 0);
  return { text: endOf(texts), isCut: units > textUnitsMax, hasAttachment: hasOtherParts(content) };
}

/** The parts' texts in lines, from as far back as the limit reaches. */
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
