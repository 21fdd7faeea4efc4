import type { TokenCounter } from '../../core/entities/engine.ts';
import { createEncoderPool } from '../../media/encoding/encode.ts';
import type { EngineSet } from '../engine-set.ts';
import { createBuiltinChat } from './chat.ts';
import { createBuiltinSpeech } from './speech.ts';
import { createBuiltinTranscription } from './transcription.ts';

interface BuiltinSettings {
  readonly speechThreads: number;
  readonly encoderThreads: number;
  readonly recognizers: number;
  readonly speechQueueMax: number;
  readonly transcriptionQueueMax: number;
}

interface BuiltinDeps {
  readonly tokens: TokenCounter;
  readonly clock: { now(): number };
}

/** Speech, transcription and chat without network or downloads. Threads start at first use. */
export function createBuiltinEngine(settings: BuiltinSettings, deps: BuiltinDeps): EngineSet {
  const encoders = createEncoderPool({ threads: settings.encoderThreads });
  const speech = createBuiltinSpeech({
    threads: settings.speechThreads,
    queueMax: settings.speechQueueMax,
    encoders,
  });
  const transcription = createBuiltinTranscription({
    recognisers: settings.recognizers,
    queueMax: settings.transcriptionQueueMax,
  });
  const chat = createBuiltinChat({ tokens: deps.tokens, clock: () => deps.clock.now() });
  return {
    speech: () => speech,
    transcription: () => transcription,
    chat: () => chat,
    reading: () => ({
      isUp: true,
      waiting: speech.waiting() + transcription.waiting(),
      waitingMax: settings.speechQueueMax + settings.transcriptionQueueMax,
    }),
    close: async () => {
      await Promise.all([speech.close(), transcription.close()]);
      await encoders.close();
    },
  };
}
