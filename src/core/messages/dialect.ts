import {
  type CreateMessageResponse,
  CreateMessageResponseSchema,
  type MessageEvent,
  type MessageParams,
} from '../../../gen/parley/messages/v1/messages_pb.ts';
import type { Dialect } from '../chat/dialect.ts';
import { messageForm } from '../idempotency/idempotency.ts';
import { isObject } from '../values/json.ts';
import { MessageAnswer } from './answer.ts';
import { toChatParams } from './chat-params.ts';

export const messages: Dialect<MessageParams, MessageEvent, CreateMessageResponse> = {
  form: messageForm(CreateMessageResponseSchema),
  toChat: toChatParams,
  labelsOf: ({ metadata = {} }) => {
    const { user_id: user, tags } = metadata;
    return { endUser: typeof user === 'string' ? withoutSession(user) : undefined, tags };
  },
  build: (...built) => new MessageAnswer(...built),
};

/** A longer text is a name as it is. */
const namesLengthMax = 10_000;

/**
 * Claude Code names its device, its account and its session, as `user_…_account_…_session_…` or as JSON. A session is no
 * end user.
 * @returns the same name for both forms; any other name as it is
 */
function withoutSession(user: string): string {
  const [, name] = /^(user_[^_]+_account_[^_]*)_session_/.exec(user) ?? [];
  return name ?? nameInJson(user) ?? user;
}

function nameInJson(text: string): string | undefined {
  if (!text.startsWith('{') || text.length > namesLengthMax) return undefined;
  try {
    const names: unknown = JSON.parse(text);
    const { device_id: device, account_uuid: account, session_id: session } = isObject(names) ? names : {};
    const isKnown = typeof device === 'string' && typeof account === 'string' && typeof session === 'string';
    return isKnown ? `user_${device}_account_${account}` : undefined;
  } catch {
    return undefined;
  }
}
