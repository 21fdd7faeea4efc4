import type { VoiceList } from '../../core/entities/engine.ts';
import { createDurationProbe } from '../../media/probing/probe.ts';
import type { EngineSet } from '../engine-set.ts';
import { Upstream, type UpstreamDeps } from './calls/upstream.ts';
import { LimitName } from './chat/limit-names.ts';
import { createOpenAiChat } from './chat.ts';
import { openContexts } from './context/context-tokens.ts';
import { type Known, kept, type ReportedValue } from './reported-value.ts';
import type { OpenAiSettings } from './settings.ts';
import { createOpenAiSpeech } from './speech.ts';
import { createOpenAiTranscription } from './transcription.ts';
import { configuredVoices, noVoicesReason, readListedVoices } from './voices/voice-list.ts';

/** Any server that speaks the OpenAI API. Connects at first use, or to read a list of voices. */
export function createOpenAiEngine(settings: OpenAiSettings, deps: UpstreamDeps) {
  const upstream = new Upstream(settings, deps);
  const nameOf = (id: string) => settings.models[id] ?? id;
  const modelOf = (id: string) => ({ upstream, settings, model: nameOf(id) });
  const probe = createDurationProbe();
  const { name: engine, log } = deps;
  const listedVoices = new Map<string, ReportedValue<VoiceList>>();
  const openVoices = (model: string): Known<VoiceList> => {
    const { voices, voicesEveryMs } = settings;
    if (voicesEveryMs === Infinity || Object.keys(voices).length > 0) return configuredVoices(voices);
    return kept(listedVoices, model, {
      read: (signal) => readListedVoices(upstream, model, signal),
      pending: 'The voices of this model are still being read. Try again in a moment.',
      reasonOf: (error) => noVoicesReason(engine, error),
      everyMs: voicesEveryMs,
      log,
      names: { engine, model },
    });
  };
  const contexts = openContexts(upstream, nameOf, deps);
  return {
    speech: (id) => createOpenAiSpeech({ ...modelOf(id), voices: openVoices(nameOf(id)) }),
    transcription: (id) => createOpenAiTranscription({ ...modelOf(id), probe }),
    chat: (id, needsContext) =>
      createOpenAiChat({
        ...modelOf(id),
        limitName: new LimitName(settings.outputLimit, settings.baseUrl, (name) =>
          log.info({ engine, model: id }, `the upstream takes the limit of an answer as ${name}`),
        ),
        context: needsContext ? contexts.of(id) : undefined,
      }),
    reading: () => upstream.reading(),
    close: async () => {
      for (const source of listedVoices.values()) source.close();
      contexts.close();
      await Promise.all([probe.close(), upstream.close()]);
    },
  } satisfies EngineSet;
}
