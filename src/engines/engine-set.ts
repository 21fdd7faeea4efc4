import type { ChatEngine, SpeechEngine, TranscriptionEngine } from '../core/ports/engines.ts';

/** The operations that a configured engine offers; a kind need not offer all. */
export interface EngineSet {
  readonly speech?: SpeechEngine;
  readonly transcription?: TranscriptionEngine;
  readonly chat?: ChatEngine;
  /** Ends workers and children of all of them. Called once, after the last request. */
  close(): Promise<void>;
}
