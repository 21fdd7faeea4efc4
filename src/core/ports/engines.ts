/** What core asks of an engine. An engine speaks, transcribes or chats; it knows nothing of keys, money or HTTP. */
import type { ChatCompletionParams } from '../../../gen/parley/chat/v1/chat_pb.ts';
import type { Batches } from '../batches.ts';
import type { ChatAnswer, ChatChunk } from '../chat/answer.ts';

/** Whether an engine can work on this machine now; where not, `reason` says what to install or mend. */
export type Availability =
  | { readonly available: true }
  | {
      readonly available: false;
      readonly reason: string;
      /** Nothing is wrong so far: it is still finding out, and will be available or know why not. */
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
  /** Encoded audio in the requested format, as it is produced. Pulling slowly slows the engine. */
  readonly audio: AsyncIterable<Uint8Array>;
  /** Milliseconds of audio that `audio` has carried so far; undefined where the engine cannot tell. */
  durationMs(): number | undefined;
}

export interface SpeechEngine extends Engine {
  /** Throws `engine_unavailable` where it knows none, for the reason that `availability` gives. */
  voices(): VoiceList;
  /** Throws `invalid_input` where nothing of the text can be said. Cheap: it runs before anything is reserved. */
  check(request: SpeechRequest): void;
  /** Rejects its iteration with `overloaded` or `upstream_error`. Abort stops the work at once. */
  synthesize(request: SpeechRequest, signal: AbortSignal): SpeechOutput;
}

export interface TranscriptionRequest {
  /** The whole file as it was uploaded, in any of the ten formats. */
  readonly audio: Uint8Array;
  /** The name the client gave; a hint at most. */
  readonly fileName: string | undefined;
  /** A language hint as the client gave it. */
  readonly language: string | undefined;
  /** Whether the client wants the times of words as well as of segments. Default: false. */
  readonly words?: boolean;
  readonly signal: AbortSignal;
}

export interface TranscriptWord {
  readonly word: string;
  readonly startMs: number;
  readonly endMs: number;
}

export interface TranscriptSegment {
  readonly startMs: number;
  readonly endMs: number;
  readonly text: string;
  readonly words: readonly TranscriptWord[];
  /** Mean natural-log probability of the words, where the engine knows it. */
  readonly avgLogprob: number | undefined;
}

export type TranscriptionEvent =
  /** How much audio there is, as far as is known: told before it is recognised, and again as more is decoded. */
  | { readonly kind: 'audio'; readonly durationMs: number }
  | { readonly kind: 'segment'; readonly segment: TranscriptSegment }
  /**
   * Last event. `durationMs` is the length of the audio, as exactly as it is known by then; `language` an English name such
   * as `english`, empty where nobody can tell; `text` all that was said, where that is not its segments joined by spaces.
   */
  | {
      readonly kind: 'done';
      readonly durationMs: number;
      readonly language: string;
      readonly text?: string;
    };

export interface TranscriptionEngine extends Engine {
  /** Whether its transcripts carry times of segments and words. Where not, they are text alone. Default: true. */
  readonly tellsTimes?: boolean;
  /** Rejects with `invalid_file`, `unsupported_file_format`, `overloaded` or `upstream_error`. */
  transcribe(request: TranscriptionRequest): AsyncIterable<TranscriptionEvent>;
}

export interface ChatEngine extends Engine {
  /** One answer, whole, with its usage where the engine reports it. */
  complete(params: ChatCompletionParams, signal: AbortSignal): Promise<ChatAnswer>;
  /**
   * The same in chunks, each as soon as it is there, with those that came with it. Usage, where the engine reports it, is on
   * the chunk with the finish reason or on one after it. Chunks become their reader's, who may write into them.
   */
  stream(params: ChatCompletionParams, signal: AbortSignal): Batches<ChatChunk>;
}

/** Counts tokens as the o200k vocabulary does, off the main thread, in time bounded for any input. */
export interface TokenCounter {
  count(text: string): Promise<number>;
  close(): Promise<void>;
}
