/** What the two kinds of processes of a server ask of each other: the one that has the data folder leads, the workers serve. */
import type { MetricsSnapshot } from '../telemetry/metrics.ts';
import type { StoreOperations } from './remote-store.ts';
import type { SentError } from './sent-error.ts';

export interface Unavailable {
  readonly model: string;
  readonly reason: string;
}

/** A worker takes requests. */
export interface Started {
  readonly baseUrl: string;
  readonly adminBaseUrl: string;
  readonly unavailable: readonly Unavailable[];
}

export interface Joined<Settings> {
  /** 1 to the number of workers. A worker that takes the place of another has its slot. */
  readonly slot: number;
  readonly settings: Settings;
}

/** What the leader does for all workers, besides the store. */
export interface LeaderServices {
  /** @throws `rate_limit_exceeded`, counted over all workers */
  noteFailedKey(address: string): Promise<void>;
  /** Why the server should get no more requests; undefined where it should. */
  whyNotReady(): Promise<string | undefined>;
  /** Of all processes as one, in the text format of Prometheus. */
  metricsText(): Promise<string>;
}

/** Called by a worker. */
export interface Leader<Settings> extends StoreOperations, LeaderServices {
  /** The first call of a worker: what it is to be. */
  join(): Promise<Joined<Settings>>;
  ready(started: Started): Promise<void>;
  /** It cannot start, and ends. */
  failed(error: SentError): Promise<void>;
}

/** Called by the leader, once the worker is ready; `forgetHolders` at any time. */
export interface Worker<Settings> {
  /** The first half of a reload: changes nothing yet. Rejects where the settings cannot be taken over. */
  prepareReload(settings: Settings): Promise<void>;
  /** Returns the models that cannot be called now. */
  takeReload(): Promise<readonly Unavailable[]>;
  dropReload(): Promise<void>;
  /** What it knows of keys may not be so any more. */
  forgetHolders(): Promise<void>;
  whyNotReady(): Promise<string | undefined>;
  metrics(): Promise<MetricsSnapshot>;
  /** Lets requests in flight finish. Then the worker ends. */
  stop(): Promise<void>;
}

export const leaderCalls = ['join', 'ready', 'failed'] as const satisfies readonly (keyof Leader<unknown>)[];
export const leaderServices = [
  'noteFailedKey',
  'whyNotReady',
  'metricsText',
] as const satisfies readonly (keyof LeaderServices)[];
export const workerCalls = [
  'prepareReload',
  'takeReload',
  'dropReload',
  'forgetHolders',
  'whyNotReady',
  'metrics',
  'stop',
] as const satisfies readonly (keyof Worker<unknown>)[];
