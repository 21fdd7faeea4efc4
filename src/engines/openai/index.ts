import type { Log } from '../../core/ports/log.ts';
import { createDurationProbe } from '../../media/probing/probe.ts';
import type { EngineSet } from '../engine-set.ts';
import { createOpenAiChat } from './chat.ts';
import type { OpenAiSettings } from './settings.ts';
import { createOpenAiSpeech } from './speech.ts';
import { createOpenAiTranscription } from './transcription.ts';
import { Upstream } from './upstream.ts';
import { configuredVoices, ListedVoices, type VoiceSource } from './voices.ts';

export type { OpenAiSettings } from './settings.ts';

export interface OpenAiDeps {
  /** The engine's name in the configuration, for the log. */
  readonly name: string;
  readonly apiKey: string | undefined;
  readonly log: Log;
  /** The headers that carry the trace of the running request on. Default: none. */
  readonly traceHeaders?: (() => Readonly<Record<string, string>>) | undefined;
}

/** Any server that speaks the OpenAI API. Connections are made at first use, but for a list of voices. */
export function createOpenAiEngine(settings: OpenAiSettings, deps: OpenAiDeps): EngineSet {
  const upstream = new Upstream(settings, deps);
  const nameOf = (id: string) => settings.models[id] ?? id;
  const probe = createDurationProbe();
  const voiceSources = new Map<string, VoiceSource>();
  const openVoices = (model: string): VoiceSource => {
    const { voices, voicesEveryMs } = settings;
    if (Object.keys(voices).length > 0) return configuredVoices(voices);
    const { name, log } = deps;
    const source =
      voiceSources.get(model) ??
      new ListedVoices({ upstream, model, engine: name, everyMs: voicesEveryMs, log });
    voiceSources.set(model, source);
    return source;
  };
  return {
    speech: (id) => createOpenAiSpeech({ upstream, model: nameOf(id), voices: openVoices(nameOf(id)) }),
    transcription: (id) =>
      createOpenAiTranscription({
        upstream,
        model: nameOf(id),
        format: settings.transcriptionFormat,
        probe,
      }),
    chat: (model) => createOpenAiChat(upstream, nameOf(model)),
    reading: () => ({ isUp: upstream.state() === 'up', waiting: upstream.waiting }),
    close: async () => {
      for (const source of voiceSources.values()) source.close();
      await Promise.all([probe.close(), upstream.close()]);
    },
  };
}
