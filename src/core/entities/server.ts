import type { MessageInitShape } from '@bufbuild/protobuf';
import type { GetServerStateResponseSchema } from '../../../gen/parley/admin/v1/admin_pb.ts';
import type { Diagnostic } from '../values/diagnostics.ts';
import type { ErrorCode } from '../values/errors.ts';
import type { ConfigurationEditor } from './configuration.ts';
import type { CatalogModel } from './model.ts';

export interface ProgramState {
  /**
   * `waiting`: for memory; `loading`: not ready yet; `busy`: ready, with calls; `failed`: not started again before a
   * pause is over.
   */
  readonly state: 'stopped' | 'waiting' | 'loading' | 'ready' | 'busy' | 'stopping' | 'failed';
  /** As measured; 0 before the first measurement. */
  readonly memoryBytes: number;
  readonly waiting: number;
  readonly starts: number;
  /** The end of the last request; undefined before. */
  readonly lastUsedAtMs?: number;
  /** Why it ended by itself, or was killed; undefined after the next start. */
  readonly failure?: string;
}

export interface EngineState {
  readonly name: string;
  readonly kind: string;
  /** Bytes of the model's files; undefined unless the engine is a model on this machine. */
  readonly fileBytes?: number;
  /** False while the engine cannot be reached. */
  readonly isUp: boolean;
  /** Waiting calls, and their maximum; undefined if there is no queue. */
  readonly waiting: number;
  readonly waitingMax?: number;
  /** Running calls, and their maximum; undefined if they are not counted. */
  readonly running?: number;
  readonly runningMax?: number;
  /** Whether calls reach the engine, fail at once, or are tried again; undefined if it has no circuit breaker. */
  readonly breaker?: 'closed' | 'open' | 'half_open';
  /** Undefined if the engine is not a program that Parley starts. */
  readonly program?: ProgramState;
  readonly requests: EngineRequests;
  /** Whether its operator has disabled it. */
  readonly disabled: boolean;
}

/** A finding, and the part of the server that it concerns. */
export type ServerDiagnostic = Diagnostic & { readonly area: string };

export const checkedKinds = ['openai', 'anthropic', 'remote'] as const;

export interface CheckedEngine {
  readonly kind: (typeof checkedKinds)[number];
  readonly url: string;
  readonly apiKey: string | undefined;
  readonly models: readonly { readonly name: string; readonly type: CatalogModel['type'] }[];
  /** Whether to ask chat models for one token. */
  readonly asksChat: boolean;
}

export interface ServerFacts {
  /** Contains no secrets. */
  state(): MessageInitShape<typeof GetServerStateResponseSchema>;
  /** Starts the program of an engine. Resolves when it is ready. @throws `not_found`, `engine_unavailable` or `overloaded` */
  load(engine: string): Promise<void>;
  /** Ends the program of an engine after its last request. @throws `not_found` */
  unload(engine: string): void;
  /** Checks a server that is no engine. Takes at most 30 seconds. @throws `invalid_parameter` for a wrong `url` */
  check(
    engine: CheckedEngine,
  ): Promise<{ readonly diagnostics: ServerDiagnostic[]; readonly models: string[] }>;
  /** Undefined if the server has no configuration file that it could read again, such as a pipe. */
  readonly editor?: ConfigurationEditor | undefined;
  /** Checks the engines, the database and the machine. Takes at most 10 seconds and costs nothing. */
  diagnose(): Promise<ServerDiagnostic[]>;
}

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
