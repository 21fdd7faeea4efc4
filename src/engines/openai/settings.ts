import type { UpstreamFormat } from '../../media/raw-audio.ts';
import type { Upstream, UpstreamSettings } from './calls/upstream.ts';
import type { LimitNames } from './chat/limit-names.ts';
import type { ChatParameters } from './chat/operator-members.ts';

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
  /** Infinity: the upstream is never asked. */
  readonly voicesEveryMs: number;
}

/** `json` for a server that sends no times, `diarized_json` for one that identifies speakers. */
type TranscriptionFormat = 'verbose_json' | 'json' | 'diarized_json';

/** A model of an upstream. */
export interface UpstreamModel {
  readonly upstream: Upstream;
  readonly settings: OpenAiSettings;
  /** The upstream's name of the model. */
  readonly model: string;
}
