import {
  type CreateMessageResponse,
  CreateMessageResponseSchema,
  type MessageEvent,
  type MessageParams,
} from '../../../gen/parley/messages/v1/messages_pb.ts';
import type { Dialect } from '../chat/dialect.ts';
import { messageForm } from '../idempotency/idempotency.ts';
import { MessageAnswer } from './answer.ts';
import { toChatParams } from './chat-params.ts';

export const messages: Dialect<MessageParams, MessageEvent, CreateMessageResponse> = {
  form: messageForm(CreateMessageResponseSchema),
  toChat: toChatParams,
  labelsOf: ({ metadata = {} }) => {
    const { user_id: user, tags } = metadata;
    return { endUser: typeof user === 'string' ? user : undefined, tags };
  },
  build: (...built) => new MessageAnswer(...built),
};
