import type { SpeechEngine } from '../../core/entities/engine.ts';
import type { ObservedRequest } from './observed-requests.ts';
import { ObservedStream } from './observed-stream.ts';

export function observedSpeech(engine: SpeechEngine, begin: () => ObservedRequest): SpeechEngine {
  return {
    availability: () => engine.availability(),
    voices: () => engine.voices(),
    check: (request, signal) => engine.check(request, signal),
    synthesize: (request, signal) => {
      const output = engine.synthesize(request, signal);
      return { audio: new ObservedStream(output.audio, begin), durationMs: () => output.durationMs() };
    },
  };
}
