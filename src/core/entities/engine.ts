/** The engines that core calls. An engine speaks, transcribes or chats; it knows nothing of keys, money or HTTP. */

import type { ChatCompletionParams } from '../../../gen/parley/chat/v1/chat_pb.ts';
import type { Batches } from '../values/batches.ts';
import type { AccountId, KeyId, RequestId } from '../values/ids.ts';
import type { Signal } from '../values/signal.ts';
import type { ChatAnswer, ChatChunk } from './chat-answer.ts';
import type { LiveSpeaker } from './live.ts';

export type Availability =
  | { readonly available: true }
  | {
      readonly available: false;
      readonly reason: string;
      /** Whether the engine does not know yet. Default: false. */
      readonly isPending?: boolean;
    };

export interface Engine {
  availability(): Availability;
}

export const audioFormats = ['mp3', 'opus', 'flac', 'wav', 'pcm'] as const;
export type AudioFormat = (typeof audioFormats)[number];

export interface Voice {
  readonly id: string;
  /** A BCP 47 tag, such as `en-US`. */
  readonly language: string;
}

export interface VoiceList {
  readonly voices: readonly Voice[];
  /** The id of one of `voices`. */
  readonly defaultVoice: string;
}

export interface SpeechRequest {
  readonly input: string;
  readonly voice: string;
  readonly format: AudioFormat;
}

export interface SpeechOutput {
  /** Encoded audio in the requested format, as it is produced. A slow reader slows the engine. */
  readonly audio: AsyncIterable<Uint8Array>;
  /** Milliseconds of audio sent so far; undefined if the engine does not know. */
  durationMs(): number | undefined;
}

export interface SpeechEngine extends Engine {
  /** @throws `engine_unavailable` with the reason of `availability`, if it knows no voices */
  voices(): VoiceList;
  /** Checks the text before the reservation. @throws `invalid_input` if nothing of the text can be spoken; `overloaded` */
  check(request: SpeechRequest, signal: Signal): Promise<void> | void;
  /** The audio rejects with `overloaded` or `upstream_error`. An abort stops the work at once. */
  synthesize(request: SpeechRequest, signal: Signal): SpeechOutput;
}

export interface TranscriptionRequest {
  /** The whole file as it was uploaded, in any of the ten formats. */
  readonly audio: Uint8Array;
  /** The client's file name, only a hint. */
  readonly fileName: string | undefined;
  readonly language: string | undefined;
  /** Languages that may be spoken, if the client names several. Default: none. */
  readonly languages?: readonly string[];
  /** Words and phrases that may be spoken. Default: none. */
  readonly keywords?: readonly string[];
  readonly prompt?: string | undefined;
  readonly temperature?: number | undefined;
  /** Whether the answer is useless without segment times. Default: false. */
  readonly needsSegments?: boolean;
  /** Whether the client wants word times besides those of segments. Default: false. */
  readonly words?: boolean;
  /** Whether the answer is useless without speakers. Default: false. */
  readonly needsSpeakers?: boolean;
  readonly knownSpeakers?: readonly KnownSpeaker[];
  /** How a model that identifies speakers divides the audio: `auto`, or JSON of the upstream's settings. Default: `auto`. */
  readonly chunkingStrategy?: string | undefined;
  readonly signal: Signal;
}

export interface KnownSpeaker {
  readonly name: string;
  /** A recording as a data URL. */
  readonly reference: string;
}

export interface TranscriptWord {
  readonly word: string;
  readonly startMs: number;
  readonly endMs: number;
}

/** Measures of a segment as Whisper models report them; undefined if the engine reports none. */
export interface SegmentDetails {
  /** In units of 10 ms. */
  readonly seek?: number | undefined;
  readonly tokens?: readonly number[] | undefined;
  readonly temperature?: number | undefined;
  readonly compressionRatio?: number | undefined;
  /** 0 to 1. */
  readonly noSpeechProb?: number | undefined;
}

export interface TranscriptSegment {
  readonly startMs: number;
  readonly endMs: number;
  readonly text: string;
  readonly words: readonly TranscriptWord[];
  /** Mean natural-log probability of the words; undefined if the engine does not know it. */
  readonly avgLogprob: number | undefined;
  /** Who speaks; undefined if the engine identifies no speakers. */
  readonly speaker?: string | undefined;
  readonly details?: SegmentDetails;
}

export type TranscriptionEvent =
  /** The length of audio known so far: sent before recognition, and again as more is decoded. */
  | { readonly kind: 'audio'; readonly durationMs: number }
  | { readonly kind: 'segment'; readonly segment: TranscriptSegment }
  /**
   * The last event. `durationMs` is the best known length of the audio; `language` an English name such as `english`,
   * empty if unknown; `text` the whole transcript. Default: the segments, joined by spaces.
   */
  | { readonly kind: 'done'; readonly durationMs: number; readonly language: string; readonly text?: string };

export interface TranscriptionEngine extends Engine {
  /** Whether its transcripts have times of segments and words, not only text. Default: true. */
  readonly reportsTimes?: boolean;
  /** Whether its segments name speakers; if so, they have no times of words. Undefined: only another server knows. */
  readonly reportsSpeakers?: boolean | undefined;
  /** Rejects with `invalid_file`, `unsupported_file_format`, `overloaded` or `upstream_error`. */
  transcribe(request: TranscriptionRequest): AsyncIterable<TranscriptionEvent>;
  openSpeaker?(): LiveSpeaker;
}

export interface ChatEngine extends Engine {
  /** Set if the model counts tokens exactly as `TokenCounter` does. */
  readonly tokenizer?: 'o200k' | undefined;
  /** Tokens of one answer, unless its operator has set others. Default: those of the context */
  readonly outputTokensMax?: number | undefined;
  /**
   * Tokens of prompt and answer together, if the engine knows.
   * @throws `engine_unavailable` with the reason of `availability`, if the engine must know but does not
   */
  contextTokens?(): number | undefined;
  /** Whether it takes parts of a content as the Messages API has them, with `cache_control`. Default: false */
  readonly takesBlocks?: boolean;
  /** The tokens of a prompt as the model counts them. Undefined: Parley counts. */
  readonly countPrompt?: ((params: ChatCompletionParams, signal: Signal) => Promise<number>) | undefined;
  /** The whole answer, with usage if the engine reports it. */
  complete(params: ChatCompletionParams, signal: Signal): Promise<ChatAnswer>;
  /**
   * The answer in chunks, as they arrive; chunks that arrive together form a batch. Usage, if the engine reports it, is
   * on the chunk with the finish reason or a later one. The reader owns the chunks and may change them.
   */
  stream(params: ChatCompletionParams, signal: Signal): Batches<ChatChunk>;
}

export interface CountBounds {
  readonly signal?: Signal;
  /** The text is not counted beyond this many tokens; the result is then some larger number. */
  readonly tokensMax?: number;
  /** Whether the count may be refused while too many others wait. Default: false, for counts on which money depends. */
  readonly mayBeRefused?: boolean;
}

/** Counts tokens of the o200k vocabulary, off the main thread, in bounded time for any input. */
export interface TokenCounter {
  /**
   * The tokens of a text, or the sum of several.
   * @throws `overloaded` if it may be refused, `internal_error`, or the signal's reason
   */
  count(text: string | readonly string[], bounds?: CountBounds): Promise<number>;
  close(): Promise<void>;
}

/** A chat before its hold, as the operator's guard sees it. */
export interface GuardedChat {
  readonly requestId: RequestId;
  readonly account: { readonly id: AccountId; readonly name: string };
  readonly key: { readonly id: KeyId; readonly name: string };
  /** Id of the model in the catalog. */
  readonly model: string;
  readonly messages: ChatCompletionParams['messages'];
}

/** The operator's own program, which may refuse a chat but never changes it. */
export interface Guard {
  /**
   * Resolves if the chat may run.
   * @throws `guard_refused`; `guard_unavailable` if the guard fails and is set to refuse then; the signal's reason
   */
  check(chat: GuardedChat, signal: Signal): Promise<void>;
}

/**
 * The Content-Type of a speech answer.
 *
 * - `opus` is an Ogg file (RFC 7845), so `audio/ogg`; `audio/opus` means bare RTP packets. Without `codecs=opus`, as some
 *   clients compare the whole value.
 * - `flac` is registered by RFC 9639. `wav` is not registered, but every browser and SDK knows `audio/wav`.
 * - `pcm` has no registered type: `audio/L16` is big-endian. Clients of the OpenAI API read `audio/pcm` as 16-bit
 *   little-endian mono at 24 kHz.
 */
const contentTypes: Readonly<Record<AudioFormat, string>> = {
  mp3: 'audio/mpeg',
  opus: 'audio/ogg',
  flac: 'audio/flac',
  wav: 'audio/wav',
  pcm: 'audio/pcm',
};

export function contentType(format: AudioFormat): string {
  return contentTypes[format];
}
