/** Requests to one engine, as its operator sees them. A request that several engines try counts on each of them. */
import type { ErrorCode } from '../values/errors.ts';

/** `refused`: for something in the request; `cancelled`: its client left. */
export type EngineOutcome = 'ok' | 'failed' | 'refused' | 'cancelled';

export interface EndedEngineRequest {
  readonly engine: string;
  readonly model: string;
  readonly outcome: EngineOutcome;
  /** From the request to the first part of the answer; undefined without output. */
  readonly firstOutputMs: number | undefined;
  /** From the request to the end of the answer, including waits for a slow client. */
  readonly durationMs: number;
}

export interface EngineFailure {
  readonly atMs: number;
  readonly model: string;
  readonly code: ErrorCode;
  /** For operators, as in the log. */
  readonly reason: string;
}

/** The running requests of an engine, and those that ended a short time ago. */
export interface EngineRequests {
  readonly running: number;
  readonly ended: number;
  /** Those of `ended` that failed. */
  readonly failed: number;
  /** Times of those of `ended` that have output; undefined if there is none. */
  readonly firstOutputMs: { readonly median: number; readonly p95: number } | undefined;
  /** Undefined if none has failed since the server started. */
  readonly lastFailure: EngineFailure | undefined;
}
