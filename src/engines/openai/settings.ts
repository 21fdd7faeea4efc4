/** What the configuration says of an upstream, checked and with every default filled in. Times are milliseconds. */
export interface OpenAiSettings {
  /** With the version, such as `http://127.0.0.1:8000/v1`. */
  readonly baseUrl: string;
  /** The upstream's name of a model, by its id here, where the two differ. */
  readonly models: Readonly<Record<string, string>>;
  readonly headers: Readonly<Record<string, string>>;
  readonly connectMs: number;
  readonly firstByteMs: number;
  readonly idleMs: number;
  readonly totalMs: number;
  /** Requests that run at once, each on a connection of its own. */
  readonly callsMax: number;
  readonly callQueueMax: number;
  readonly keepAliveMs: number;
  readonly retriesMax: number;
  readonly retryStatuses: readonly number[];
  readonly breakerFailures: number;
  readonly breakerOpenMs: number;
  readonly transcriptionFormat: 'verbose_json' | 'json';
  /** The language of each voice, by its name. Empty where the upstream lists them. */
  readonly voices: Readonly<Record<string, string>>;
  readonly voicesEveryMs: number;
}
