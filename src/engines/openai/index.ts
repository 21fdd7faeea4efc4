import { createDurationProbe } from '../../media/probing/probe.ts';
import { loadUpstreamEncoder, type UpstreamFormat } from '../../media/upstream-encoder.ts';
import type { EngineSet } from '../engine-set.ts';
import { Upstream, type UpstreamDeps, type UpstreamSettings } from './calls/upstream.ts';
import { isOpenAi, LimitName, type LimitNames, tokenizerOf } from './chat/limit-names.ts';
import type { ChatParameters } from './chat/operator-members.ts';
import { createOpenAiChat } from './chat.ts';
import { ContextSource } from './context/context-source.ts';
import type { RelaySpeakerDeps } from './realtime/speaker.ts';
import { createOpenAiSpeech } from './speech.ts';
import type { TranscriptionFormat } from './transcription/format.ts';
import { createOpenAiTranscription } from './transcription.ts';
import { configuredVoices, ListedVoices, type VoiceSource } from './voices/voice-source.ts';

/** Checked, with every default filled in. Times are milliseconds. */
export interface OpenAiSettings extends UpstreamSettings {
  /** The upstream's model names, by the ids of the catalog, where the two differ. */
  readonly models: Readonly<Record<string, string>>;
  /** Undefined: as each request needs it. */
  readonly transcriptionFormat?: TranscriptionFormat | undefined;
  /** Whether live speech is relayed to the upstream's Realtime API, as audio of this format. */
  readonly realtime: boolean;
  readonly realtimeFormat: UpstreamFormat;
  /** How long a connection for live speech is kept without a turn. Default: `idleMs` */
  readonly realtimeKeptMs?: number | undefined;
  /** The parameters that carry chat limits. Undefined: chosen by the host. */
  readonly outputLimit?: LimitNames | undefined;
  /** The operator's changes to chat requests. Default: members of `operatorMembers` are dropped. */
  readonly parameters?: ChatParameters | undefined;
  /** The language of each voice, by the voice's name. Empty if the upstream lists them. */
  readonly voices: Readonly<Record<string, string>>;
  readonly voicesEveryMs: number;
}

/** Any server that speaks the OpenAI API. Connects at first use, or to read a list of voices. */
export function createOpenAiEngine(settings: OpenAiSettings, deps: UpstreamDeps): EngineSet {
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
  const contextSources = new Map<string, ContextSource>();
  const openContext = (id: string, model: string): ContextSource => {
    const { name, log } = deps;
    const source = contextSources.get(id) ?? new ContextSource({ upstream, model, id, engine: name, log });
    contextSources.set(id, source);
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
        isParley: settings.isParley ?? false,
        relay: relayOf(settings, upstream, nameOf(id)),
      }),
    chat: (id, needsContext) => {
      const model = nameOf(id);
      return createOpenAiChat({
        upstream,
        model,
        limitName: new LimitName(settings.outputLimit, settings.baseUrl, (name) =>
          deps.log.info(
            { engine: deps.name, model: id },
            `the upstream takes the limit of an answer as ${name}`,
          ),
        ),
        parameters: settings.parameters ?? {},
        takesDeveloper: isOpenAi(settings.baseUrl) || settings.isParley === true,
        tokenizer: tokenizerOf(settings.baseUrl, model),
        context: needsContext ? openContext(id, model) : undefined,
      });
    },
    reading: () => upstream.reading(),
    close: async () => {
      for (const source of [...voiceSources.values(), ...contextSources.values()]) source.close();
      await Promise.all([probe.close(), upstream.close()]);
    },
  };
}

function relayOf(settings: OpenAiSettings, upstream: Upstream, model: string): RelaySpeakerDeps | undefined {
  const { realtime, realtimeFormat: format, firstByteMs, idleMs, totalMs } = settings;
  const { realtimeKeptMs: keptMs = idleMs } = settings;
  if (!realtime) return undefined;
  return {
    upstream,
    model,
    format,
    loadEncoder: () => loadUpstreamEncoder(format),
    firstByteMs,
    idleMs,
    keptMs,
    totalMs,
  };
}
