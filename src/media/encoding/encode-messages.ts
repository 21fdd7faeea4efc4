/** What the server's thread and an encoder thread say to each other. Every message is about one stream, by its id. */
import type { ComputedFormat } from '../encoders/open.ts';

export type ToEncoderThread =
  | {
      readonly kind: 'open';
      readonly stream: number;
      readonly format: ComputedFormat;
      readonly sampleRate: number;
    }
  /** Answered by exactly one message, before which the stream sends no other samples. */
  | {
      readonly kind: 'encode';
      readonly stream: number;
      readonly samples: Int16Array;
      /** Whether these are the last samples; then the answer has the end of the file. */
      readonly isLast: boolean;
    }
  /** Frees the stream's encoder, finished or not. */
  | { readonly kind: 'close'; readonly stream: number };

export type FromEncoderThread =
  | { readonly kind: 'encoded'; readonly stream: number; readonly bytes: Uint8Array }
  | { readonly kind: 'failed'; readonly stream: number; readonly reason: string };
