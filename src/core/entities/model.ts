/** The models of the catalog. */
import type { Price } from '../values/money.ts';
import type { ChatEngine, SpeechEngine, TranscriptionEngine } from './engine.ts';

interface ModelFacts {
  readonly id: string;
  readonly createdAtSeconds: number;
  readonly ownedBy: string;
  readonly description: string | undefined;
}

export interface SpeechModel extends ModelFacts {
  readonly type: 'speech';
  readonly engine: SpeechEngine;
  /** Maps the voice names that callers send to the engine's. Undefined if callers use the engine's names. */
  readonly voiceNames: ReadonlyMap<string, string> | undefined;
  readonly defaultVoice: string | undefined;
}

export interface TranscriptionModel extends ModelFacts {
  readonly type: 'transcription';
  readonly engine: TranscriptionEngine;
  /** Serves live sessions in place of the active model, and nothing else. */
  readonly liveOnly: boolean;
}

export interface ChatModel extends ModelFacts {
  readonly type: 'chat';
  readonly engine: ChatEngine;
  readonly price: Price;
  /** How requests for thinking in the Messages API reach the model: as `reasoning_effort`, also as `thinking`, or not. */
  readonly thinking: 'effort' | 'parameter' | 'none';
  /**
   * Whether the model gets one system message, at the beginning. Undefined: those of chats as they are sent, and one for an API
   * that is converted to a chat.
   */
  readonly systemMessages: 'as-sent' | 'one-first' | undefined;
  /** The models that answer in its place if it fails before any output; undefined if none do. */
  readonly fallback?: Fallback | undefined;
  /** Tokens that are held for an image whose size is unknown. Default: those of the largest image. */
  readonly imageTokens?: number | undefined;
  /** @throws `engine_unavailable` while the engine does not know its context, as does `outputTokensMax` */
  readonly contextTokens: number;
  readonly outputTokensMax: number;
}

export const fallbackReasons = ['connect', 'timeout', 429, '5xx', 402, 'context'] as const;
/** No connection or no answer on it, an upstream that is too slow, one of its statuses, or a prompt that is too long. */
export type FallbackReason = (typeof fallbackReasons)[number];

export interface Fallback {
  /** Ids of chat models, in their order. Their own fallbacks are not tried. */
  readonly models: readonly string[];
  readonly on: ReadonlySet<FallbackReason>;
  /** Whether the client pays the price of the model that answers, or that of the first one. */
  readonly price: 'answering' | 'first';
}

export type CatalogModel = SpeechModel | TranscriptionModel | ChatModel;

/** The models of a conversation, which is not a model of the catalog itself. */
export interface ConversationModel {
  readonly id: string;
  readonly chat: string;
  readonly speech: string;
  /** Undefined: the default of the speech model. */
  readonly voice?: string | undefined;
}

export const modelTypes = [
  'speech',
  'transcription',
  'chat',
] as const satisfies readonly CatalogModel['type'][];
