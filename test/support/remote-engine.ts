/** A remote engine from the configuration, and its messages to the operator. */
import { create } from '@bufbuild/protobuf';
import { type ChatCompletionParams, ChatCompletionParamsSchema } from '../../gen/parley/chat/v1/chat_pb.ts';
import type { SpeechEngine, TranscriptionEngine } from '../../src/core/entities/engine.ts';
import { createRemoteEngine, type RemoteSettings } from '../../src/engines/remote/index.ts';
import { inMessages, type MessageChat } from './message-chat.ts';

interface LogEntry {
  readonly level: 'info' | 'warn' | 'error';
  readonly message: string;
  readonly facts: object;
}

export interface RemoteEngine {
  readonly speech: SpeechEngine;
  readonly transcription: TranscriptionEngine;
  readonly chat: MessageChat;
  readonly logged: readonly LogEntry[];
  close(): Promise<void>;
}

export type RemoteOptions = Partial<RemoteSettings> & {
  readonly address: string;
  readonly apiKey: string | undefined;
};

/** With the models of the default configuration. */
export function openRemote({ apiKey, ...settings }: RemoteOptions): RemoteEngine {
  const logged: LogEntry[] = [];
  const note = (level: LogEntry['level']) => (facts: object, message: string) => {
    logged.push({ level, message, facts });
  };
  const log = { info: note('info'), warn: note('warn'), error: note('error') };
  const set = createRemoteEngine({ ...defaults, ...settings }, { name: 'far', apiKey, log });
  const [speech, transcription, chat] = [
    set.speech?.('flite'),
    set.transcription?.('pocketsphinx'),
    set.chat?.('eliza', false),
  ];
  if (!speech || !transcription || !chat) throw new Error('a remote engine offers all three operations');
  return { speech, transcription, chat: inMessages(chat), logged, close: () => set.close() };
}

const defaults: Omit<RemoteSettings, 'address'> = {
  models: {},
  tls: false,
  connectionsMax: 16,
  connectMs: 5_000,
  totalMs: 600_000,
  keepaliveMs: 30_000,
  retriesMax: 2,
  catalogEveryMs: 60_000,
  repeatLostCalls: true,
};

export function saying(text: string): ChatCompletionParams {
  const content = { value: { case: 'text' as const, value: text } };
  return create(ChatCompletionParamsSchema, { model: 'eliza', messages: [{ role: 'user', content }] });
}
