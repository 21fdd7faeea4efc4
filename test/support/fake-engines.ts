/** Engines that fail, stall or count on command, which a real engine does only by accident. */
import type { ChatEngine, SpeechEngine, TranscriptionEngine } from '../../src/core/entities/engine.ts';
import type { EngineSet } from '../../src/engines/engine-set.ts';
import { type MessageChat, toEngine } from './message-chat.ts';

const idle = { availability: () => ({ available: true }) as const };

export function fakeSpeech(parts: Partial<SpeechEngine> = {}): SpeechEngine {
  return {
    ...idle,
    voices: () => ({ voices: [{ id: 'one', language: 'en-US' }], defaultVoice: 'one' }),
    check: () => undefined,
    synthesize: () => {
      throw new Error('not expected to speak');
    },
    ...parts,
  };
}

export function fakeTranscription(parts: Partial<TranscriptionEngine> = {}): TranscriptionEngine {
  return {
    ...idle,
    transcribe: () => {
      throw new Error('not expected to transcribe');
    },
    ...parts,
  };
}

export function fakeChat(parts: Partial<MessageChat> = {}): ChatEngine {
  return toEngine({
    ...idle,
    complete: () => Promise.reject(new Error('not expected to complete')),
    stream: () => {
      throw new Error('not expected to stream');
    },
    ...parts,
  });
}

/** Replaces the engine that the default configuration names. */
export function withFakes({
  speech = fakeSpeech(),
  transcription = fakeTranscription(),
  chat = fakeChat(),
}: FakeEngines): Record<string, EngineSet> {
  return {
    builtin: {
      speech: () => speech,
      transcription: () => transcription,
      chat: () => chat,
      reading: () => ({ isUp: true, waiting: 0 }),
      close: async () => undefined,
    },
  };
}

interface FakeEngines {
  readonly speech?: SpeechEngine;
  readonly transcription?: TranscriptionEngine;
  readonly chat?: ChatEngine;
}
