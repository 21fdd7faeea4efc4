import type { VoiceList } from '../../core/entities/engine.ts';
import { createDurationProbe } from '../../media/probing/probe.ts';
import { loadUpstreamEncoder, type UpstreamFormat } from '../../media/raw-audio.ts';
import { answerBytesMax } from '../answer-limits.ts';
import type { EngineSet } from '../engine-set.ts';
import { Upstream, type UpstreamDeps, type UpstreamSettings } from './calls/upstream.ts';
import { isOpenAi, LimitName, type LimitNames, tokenizerOf } from './chat/limit-names.ts';
import type { ChatParameters } from './chat/operator-members.ts';
import { createOpenAiChat } from './chat.ts';
import { openContexts } from './context/context-tokens.ts';
import type { RelaySpeakerDeps } from './realtime/speaker.ts';
import { type Known, kept, type ReportedValue } from './reported-value.ts';
import { createOpenAiSpeech } from './speech.ts';
import { createOpenAiTranscription, type TranscriptionFormat } from './transcription.ts';
import { configuredVoices, noVoicesReason, readListedVoices } from './voices/voice-list.ts';

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
  /** The longest event of a stream. Default: as long as the largest answer that is read whole */
  readonly eventCharactersMax?: number | undefined;
  /** The operator's changes to chat requests. Default: members of `operatorMembers` are dropped. */
  readonly parameters?: ChatParameters | undefined;
  /** The language of each voice, by the voice's name. Empty if the upstream lists them. */
  readonly voices: Readonly<Record<string, string>>;
  readonly voicesEveryMs: number;
}

/** Any server that speaks the OpenAI API. Connects at first use, or to read a list of voices. */
export function createOpenAiEngine(settings: OpenAiSettings, deps: UpstreamDeps) {
  const upstream = new Upstream(settings, deps);
  const nameOf = (id: string) => settings.models[id] ?? id;
  const probe = createDurationProbe();
  const { name: engine, log } = deps;
  const listedVoices = new Map<string, ReportedValue<VoiceList>>();
  const openVoices = (model: string): Known<VoiceList> => {
    const { voices, voicesEveryMs } = settings;
    if (Object.keys(voices).length > 0) return configuredVoices(voices);
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
          log.info({ engine, model: id }, `the upstream takes the limit of an answer as ${name}`),
        ),
        parameters: settings.parameters ?? {},
        eventCharactersMax: settings.eventCharactersMax ?? answerBytesMax,
        takesDeveloper: isOpenAi(settings.baseUrl) || settings.isParley === true,
        tokenizer: tokenizerOf(settings.baseUrl, model),
        context: needsContext ? contexts.of(id) : undefined,
      });
    },
    reading: () => upstream.reading(),
    close: async () => {
      for (const source of listedVoices.values()) source.close();
      contexts.close();
      await Promise.all([probe.close(), upstream.close()]);
    },
  } satisfies EngineSet;
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
