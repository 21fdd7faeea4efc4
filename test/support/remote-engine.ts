/** Another Parley as an engine, and its messages to the operator. */
import { create } from '@bufbuild/protobuf';
import { type ChatCompletionParams, ChatCompletionParamsSchema } from '../../gen/parley/chat/v1/chat_pb.ts';
import { remoteEngine } from '../../src/config/schema/upstream-engine.ts';
import type { SpeechEngine, TranscriptionEngine } from '../../src/core/entities/engine.ts';
import { createOpenAiEngine } from '../../src/engines/openai/index.ts';
import type { OpenAiSettings } from '../../src/engines/openai/settings.ts';
import { inMessages, type MessageChat } from './message-chat.ts';

export interface RemoteEngine {
  readonly speech: SpeechEngine;
  readonly transcription: TranscriptionEngine;
  readonly chat: MessageChat;
  close(): Promise<void>;
}

export type RemoteOptions = Partial<OpenAiSettings> & {
  readonly baseUrl: string;
  readonly apiKey: string | undefined;
};

const silent = () => undefined;

/** With the models of the default configuration. */
export function openRemote({ apiKey, ...settings }: RemoteOptions): RemoteEngine {
  const log = { info: silent, warn: silent, error: silent };
  const parsed = remoteEngine.parse({ kind: 'remote', ...settings });
  const set = createOpenAiEngine({ ...parsed, isParley: true }, { name: 'far', apiKey, log });
  const [speech, transcription, chat] = [
    set.speech?.('flite'),
    set.transcription?.('pocketsphinx'),
    set.chat?.('eliza', false),
  ];
  if (!speech || !transcription || !chat) throw new Error('a remote engine offers all three operations');
  return { speech, transcription, chat: inMessages(chat), close: () => set.close() };
}

export function saying(text: string): ChatCompletionParams {
  const content = { value: { case: 'text' as const, value: text } };
  return create(ChatCompletionParamsSchema, { model: 'eliza', messages: [{ role: 'user', content }] });
}
