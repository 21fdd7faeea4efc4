/** The calls of chat cases, and the record of a successful one. */
import type { MessageInitShape } from '@bufbuild/protobuf';
import type { ChatCompletionParamsSchema } from '../../gen/parley/chat/v1/chat_pb.ts';
import { ChatService } from '../../gen/parley/chat/v1/chat_service_pb.ts';
import { type Case, type CaseRequest, calling, ok } from './case.ts';
import { play, type Step } from './play.ts';

export type Params = MessageInitShape<typeof ChatCompletionParamsSchema>;

const { createChatCompletion, streamChatCompletion } = ChatService.method;

export const saying = (value: string) => [
  { role: 'user', content: { value: { case: 'text' as const, value } } },
];
export const worried = { model: 'eliza', messages: saying('I am worried about my work.') } satisfies Params;
export const playing = (...steps: readonly Step[]): Params => ({
  model: 'eliza',
  messages: saying(play(...steps)),
});

export const whole = (params: Params) => calling(createChatCompletion, { params });
export const streamed = (params: Params) => calling(streamChatCompletion, { params });

/** The same conversation, with a plain and a streamed answer. */
export function bothWays(makeCase: (of: (params: Params) => CaseRequest, name: string) => Case): Case[] {
  return [makeCase(whole, 'chat'), makeCase(streamed, 'chat, streamed')];
}

export const aCost = { cost_nano_credits: expectAnyCost() };
const reported = { tokens_source: 'reported', ...aCost };

function expectAnyCost(): unknown {
  return { asymmetricMatch: (cost: unknown) => Number(cost) > 0, toString: () => 'a cost' };
}

export const answered = (facts: Record<string, unknown> = {}) => [
  ok({ operation: 'chat', model: 'eliza', ...reported, ...facts }),
];
