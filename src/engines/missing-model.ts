import { ParleyError } from '../core/values/errors.ts';
import type { EngineSet } from './engine-set.ts';

/** An engine whose model cannot run here. Its models are listed to nobody. @param reason in a sentence */
export function missingModel(reason: string): EngineSet {
  const availability = () => ({ available: false, reason }) as const;
  const refuse = (): never => {
    throw new ParleyError('engine_unavailable', { message: reason, hasNotRun: true });
  };
  return {
    speech: () => ({ availability, voices: refuse, check: refuse, synthesize: refuse }),
    transcription: () => ({ availability, transcribe: refuse }),
    chat: () => ({ availability, complete: async () => refuse(), stream: refuse }),
    reading: () => ({ isUp: false, waiting: 0 }),
    close: async () => undefined,
  };
}
