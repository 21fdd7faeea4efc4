/**
 * A kind of engine is a folder here with the same files in each: `index` creates the engine, `speech`, `transcription` and
 * `chat` are its operations, `errors` translates foreign errors, `diagnostics` is its part of `parley doctor`.
 *
 * To add a kind, also add
 * - its settings: `src/config/schema/<kind>.ts`, listed in `src/config/schema/engines.ts`; then run
 *   `node scripts/write-config-schema.ts`,
 * - a case in `src/app/engines.ts`, which creates it, and in `src/app/diagnostics/engine.ts`,
 * - tests: `test/engines/<kind>/`.
 *
 * `failover/` is not a kind: it makes one engine of those that serve one model.
 */
import type { ChatEngine, SpeechEngine, TranscriptionEngine } from '../core/entities/engine.ts';
import type { EngineState } from '../core/entities/server.ts';

/** The operations of a configured engine. A kind need not offer all. Each takes the catalog's id of a model. */
export interface EngineSet {
  speech?(model: string): SpeechEngine;
  transcription?(model: string): TranscriptionEngine;
  /** @param needsContext whether the engine has to find out the model's context */
  chat?(model: string, needsContext: boolean): ChatEngine;
  /** The current state, for metrics and readiness. */
  reading(): EngineReading;
  /** Ends all its threads and connections. Called once, after the last request. */
  close(): Promise<void>;
}

export type EngineReading = Omit<EngineState, 'name' | 'kind'>;

/** An engine with threads, closed by its creator. */
export type Owned<Engine> = Engine & {
  /** Requests that wait for a thread. */
  waiting(): number;
  close(): Promise<void>;
};
