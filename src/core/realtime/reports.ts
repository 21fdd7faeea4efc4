/** The reports of a session and its responses, which the transport sends. */
import type { Value } from '@bufbuild/protobuf/wkt';
import type { ResponseTool } from '../../../gen/parley/responses/v1/responses_pb.ts';
import type { AudioEncoding } from '../entities/live.ts';
import type { TokenUsage } from '../entities/usage.ts';
import type { ParleyError } from '../values/errors.ts';
import type { RequestId } from '../values/ids.ts';
import type { Item } from './items.ts';
import type { CancelReason } from './response-state.ts';
import type { TurnNumber } from './session.ts';
import type { TranscribedTurn } from './turn.ts';

/** Times are milliseconds from the session's first sample. */
export type SessionReport =
  | { readonly kind: 'started' | 'stopped'; readonly turn: TurnNumber; readonly atMs: number }
  | {
      readonly kind: 'committed';
      readonly turn: TurnNumber;
      /** In a conversation: the id of the item before the turn's; null for none. */
      readonly previous?: string | null;
    }
  | { readonly kind: 'cleared' }
  /** @param eventId of the client's commit, if it has one */
  | { readonly kind: 'commit_empty'; readonly eventId: string | undefined }
  | PartialReport
  | (TranscribedTurn & { readonly kind: 'completed'; readonly turn: TurnNumber })
  | FailureReport
  /** A response begins or, with its end, is done. */
  | { readonly kind: 'response'; readonly response: ResponseFacts }
  /** A change of a response or of one of its items, as an event of OpenAI's Realtime protocol. */
  | { readonly kind: 'event'; readonly event: object };

/** The text replaces the previous one. Its first `stableWords` words will not change. */
interface PartialReport {
  readonly kind: 'partial';
  readonly turn: TurnNumber;
  readonly text: string;
  readonly stableWords: number;
}

interface FailureReport {
  readonly kind: 'failed';
  readonly turn: TurnNumber;
  readonly id: RequestId | undefined;
  readonly error: ParleyError;
}

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

/** Maximum number of reports that wait for a slow client. Then no more input is accepted. */
export const waitingMax = 64;

/** The reports of a session as it sees them. */
export type ReportQueue = Pick<Reports, 'add' | 'end' | 'whenRoom'>;

/** Passes the reports of a session to its reader, in order. A partial text replaces an unread earlier one. */
export class Reports {
  readonly #waiting: SessionReport[] = [];
  #change = Promise.withResolvers<void>();
  #isOver = false;
  #reason: ParleyError | undefined;

  add(report: SessionReport): void {
    if (this.#isOver) return;
    const last = this.#waiting.at(-1);
    if (last?.kind === 'partial' && report.kind === 'partial' && last.turn === report.turn)
      this.#waiting.pop();
    this.#waiting.push(report);
    this.#changed();
  }

  /** @param reason thrown to the reader after the last report */
  end(reason: ParleyError | undefined): void {
    this.#isOver = true;
    this.#reason = reason;
    this.#changed();
  }

  /** Resolves once the reader keeps up. */
  async whenRoom(): Promise<void> {
    while (this.#waiting.length >= waitingMax && !this.#isOver) await this.#change.promise;
  }

  async *read(): AsyncGenerator<readonly SessionReport[], void, void> {
    for (;;) {
      const reports = this.#waiting.splice(0);
      if (reports.length > 0) {
        this.#changed();
        yield reports;
      } else if (this.#isOver) {
        if (this.#reason) throw this.#reason;
        return;
      } else await this.#change.promise;
    }
  }

  #changed(): void {
    this.#change.resolve();
    this.#change = Promise.withResolvers();
  }
}
