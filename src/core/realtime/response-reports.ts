/** The reports of a conversation's responses, which the transport sends. */
import type { Value } from '@bufbuild/protobuf/wkt';
import type { ResponseTool } from '../../../gen/parley/responses/v1/responses_pb.ts';
import type { AudioEncoding } from '../entities/live.ts';
import type { TokenUsage } from '../entities/usage.ts';
import type { ParleyError } from '../values/errors.ts';
import type { RequestId } from '../values/ids.ts';
import type { Item } from './items.ts';
import type { CancelReason } from './response-state.ts';

/** How responses are made, unless the client asks for one in another way. */
export interface ResponseSettings {
  readonly instructions: string;
  readonly tools: readonly ResponseTool[];
  readonly toolChoice: Value | undefined;
  /** Undefined: as many as the model makes. */
  readonly maxOutputTokens: number | undefined;
  /** Whether responses are spoken, and not only written. */
  readonly isSpoken: boolean;
  readonly voice: string;
  readonly encoding: AudioEncoding;
}

export interface ResponseRequest extends ResponseSettings {
  /** Whether the output becomes part of the conversation. */
  readonly isKept: boolean;
  /** The items to answer. Undefined: those of the conversation. */
  readonly input: readonly Item[] | undefined;
  readonly metadata: unknown;
}

export interface ResponseFacts {
  readonly id: string;
  /** The id of the chat's usage record; undefined before the chat. */
  readonly requestId: RequestId | undefined;
  readonly request: ResponseRequest;
  readonly output: readonly Item[];
  /** Undefined as long as none are known. */
  readonly usage: TokenUsage | undefined;
  readonly end: ResponseEnd | undefined;
}

export type ResponseEnd =
  | { readonly status: 'completed' }
  | { readonly status: 'incomplete'; readonly reason: 'max_output_tokens' | 'content_filter' }
  | { readonly status: 'cancelled'; readonly reason: CancelReason }
  | { readonly status: 'failed'; readonly error: ParleyError };

interface OutputReport {
  readonly responseId: string;
  readonly index: number;
  readonly item: Item;
  /** The id of the item before it; undefined if it is not part of the conversation. */
  readonly previous: string | null | undefined;
}

export type ResponseReport =
  /** The response begins or, with its end, is done. */
  | { readonly kind: 'response'; readonly response: ResponseFacts }
  /** An item of a response begins or is done. */
  | (OutputReport & { readonly kind: 'output' | 'output_done' })
  /** More text of a message. If it is spoken, its audio follows. */
  | (Omit<OutputReport, 'previous'> & {
      readonly kind: 'text';
      readonly text: string;
      readonly isSpoken: boolean;
    })
  | (Omit<OutputReport, 'previous'> & { readonly kind: 'speech'; readonly audio: Uint8Array })
  /** The session has had all its responses. */
  | { readonly kind: 'exhausted' };
