/**
 * Each kind of engine is a folder with the same files: `index` creates the engine, `speech`, `transcription` and `chat`
 * are its operations, `errors` translates foreign errors, `diagnostics` is its part of `parley doctor`. AGENTS.md says
 * how to add one. `run/` is not a kind: it runs a request on the engines of one model.
 */
import type { ChatEngine, SpeechEngine, TranscriptionEngine } from '../core/entities/engine.ts';
import type { EngineState } from '../core/entities/server.ts';

/** The operations of a configured engine. A kind may lack some. Each takes the model's id in the catalog. */
export interface EngineSet {
  speech?(model: string): SpeechEngine;
  transcription?(model: string): TranscriptionEngine;
  /** @param needsContext whether the engine must find out the model's context */
  chat?(model: string, needsContext: boolean): ChatEngine;
  /** The current state, for metrics and readiness. */
  reading(): EngineReading;
  /** The program that Parley starts for the engine. Default: none. */
  readonly program?: EngineProgram;
  /** No new request will come. Running ones still end on it. Default: nothing is released before `close`. */
  retire?(): void;
  /** Ends all its threads and connections. Call once, after the last request. */
  close(): Promise<void>;
}

/** A program that can be started and ended by hand. */
export interface EngineProgram {
  /** Starts it unless it runs. Resolves when it is ready. @throws `engine_unavailable` or `overloaded` */
  load(): Promise<void>;
  /** Ends it after its last request. The next request starts it again. */
  unload(): void;
}

export type EngineReading = Omit<EngineState, 'name' | 'kind' | 'fileBytes' | 'requests' | 'disabled'>;

/** An engine with threads, closed by its creator. */
export type Owned<Engine> = Engine & {
  /** Requests that wait for a thread. */
  waiting(): number;
  close(): Promise<void>;
};
