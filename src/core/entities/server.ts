import type { Diagnostic } from '../values/diagnostics.ts';
import type { Price } from '../values/money.ts';

export interface EngineState {
  readonly name: string;
  readonly kind: string;
  /** False while it cannot be reached. */
  readonly isUp: boolean;
  /** Calls that wait for room, and how many may; undefined if it has no queue. */
  readonly waiting: number;
  readonly waitingMax?: number;
  /** Calls that run, and how many may; undefined if it does not count them. */
  readonly running?: number;
  readonly runningMax?: number;
  /** Whether calls reach it, fail at once, or are tried again; undefined if it has no circuit breaker. */
  readonly breaker?: 'closed' | 'open' | 'half_open';
}

export interface ModelState {
  readonly id: string;
  readonly type: string;
  readonly engines: readonly string[];
  /** Why it cannot be called; undefined if it can. */
  readonly reason: string | undefined;
  /** Chat only. */
  readonly price: Price | undefined;
}

export interface ServerState {
  readonly version: string;
  readonly startedAtMs: number;
  readonly engines: readonly EngineState[];
  readonly models: readonly ModelState[];
  /** Without secrets. */
  readonly settings: readonly { readonly name: string; readonly value: string }[];
}

/** A finding, and the part of the server that it is about. */
export type ServerDiagnostic = Diagnostic & { readonly area: string };

/** The running server, as its operator sees it. */
export interface ServerFacts {
  state(): ServerState;
  /** Checks the engines, the database, the machine. Takes at most 10 seconds and costs nothing. */
  diagnose(): Promise<readonly ServerDiagnostic[]>;
}
