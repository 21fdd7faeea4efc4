import type { ChatEngine, SpeechEngine, TranscriptionEngine } from '../core/ports/engines.ts';

/**
 * The operations that a configured engine offers; a kind need not offer all. Each is asked for by the id that the catalog
 * gives a model, of which an engine may serve many.
 */
export interface EngineSet {
  speech?(model: string): SpeechEngine;
  transcription?(model: string): TranscriptionEngine;
  chat?(model: string): ChatEngine;
  /** How it is doing just now, for metrics and readiness. */
  reading(): EngineReading;
  /** Ends workers, children and connections of all of them. Called once, after the last request. */
  close(): Promise<void>;
}

export interface EngineReading {
  /** False where it cannot be reached. */
  readonly isUp: boolean;
  /** Calls that wait until it has room for them. */
  readonly waiting: number;
}

/** An engine that has threads or children of its own, ended by whoever made it. */
export type Owned<Engine> = Engine & {
  /** Requests that wait for a thread or a child. */
  waiting(): number;
  close(): Promise<void>;
};
