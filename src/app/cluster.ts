/** A server of several processes: this one has the data folder and leads, and workers on one port take the requests. */
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import type { App } from '../app.ts';
import type { Started, Unavailable } from '../cluster/roles.ts';
import { Team } from '../cluster/team.ts';
import { type Config, NeedsRestartError, sectionsToRestart } from '../config.ts';
import { AdminOperations } from '../core/admin.ts';
import { FailedKeys } from '../core/failed-keys.ts';
import { systemClock } from '../core/ports/clock.ts';
import type { Log } from '../core/ports/log.ts';
import type { Services } from '../core/services.ts';
import { MetricsOfAll } from '../telemetry/metrics-of-all.ts';
import { openData } from './data.ts';
import { type Ports, toWorkerSettings, type WorkerSettings } from './worker-settings.ts';

export interface ClusterApp
  extends Pick<App, 'baseUrl' | 'adminBaseUrl' | 'store' | 'unavailable' | 'close'> {
  readonly services: Pick<Services, 'admin'>;
  /** As that of an app: in all workers, or in none. */
  reload(config: Config): Promise<void>;
}

/** Beyond the time that running requests get to end. Then a worker is killed. */
const stopMs = 10_000;

/** Starts the server that the configuration describes, with `server.workers` workers. Rejects as `createApp` does. */
export async function createClusterApp(config: Config, { log }: { readonly log: Log }): Promise<ClusterApp> {
  const opened = new AsyncDisposableStack();
  try {
    return await open(config, log, opened);
  } catch (error) {
    await opened.disposeAsync();
    throw error;
  }
}

async function open(config: Config, log: Log, opened: AsyncDisposableStack): Promise<ClusterApp> {
  const clock = systemClock;
  const store = await openData(config, { clock, log }, opened);
  // Workers that were killed may have left uploads behind.
  rmSync(join(config.dataDir, 'scratch'), { recursive: true, force: true });
  const failedKeys = new FailedKeys(config.limits.failedKeysPerMinuteMax);
  const metrics = new MetricsOfAll();
  const running = new RunningConfig(config);
  const team: Team<WorkerSettings> = new Team({
    ...{ count: config.server.workers, store, clock, log },
    settings: () => running.settings,
    services: {
      noteFailedKey: (address) => failedKeys.note(address),
      whyNotReady: () => team.whyNotReady(),
      metricsText: async () => {
        await team.readMetrics((id, snapshot) => metrics.note(id, snapshot));
        return metrics.text();
      },
    },
    onEnded: (id, isLast) => {
      void metrics.ended(id);
      if (isLast) running.keepPorts();
    },
  });
  opened.defer(() => team.stop(config.server.unreadyMs + config.server.drainMs + stopMs));
  const started = await team.start();
  running.started(started);
  let unavailable: readonly Unavailable[] = started.unavailable;
  const fairUse = { ...config.fairUse };
  return {
    baseUrl: started.baseUrl,
    adminBaseUrl: started.adminBaseUrl,
    services: { admin: new AdminOperations({ store, clock, fairUse }) },
    store,
    unavailable: () => unavailable,
    reload: async (next) => {
      const reload = running.prepare(next);
      unavailable = await team.reload(reload.settings, () => reload.commit());
      Object.assign(fairUse, next.fairUse);
    },
    close: () => opened.disposeAsync(),
  };
}

/** The configuration of the moment, and what workers get of it. */
class RunningConfig {
  #config: Config;
  #settings: WorkerSettings;
  #started: Started | undefined;
  #ports: Ports = {};

  constructor(config: Config) {
    this.#config = config;
    this.#settings = toWorkerSettings(config);
  }

  get settings(): WorkerSettings {
    return this.#settings;
  }

  started(started: Started): void {
    this.#started = started;
  }

  /** @throws NeedsRestartError */
  prepare(next: Config): { readonly settings: WorkerSettings; commit(): void } {
    const bound = sectionsToRestart(this.#config, next);
    if (bound.length > 0) throw new NeedsRestartError(bound);
    const settings = toWorkerSettings(next, this.#ports);
    const commit = () => {
      this.#config = next;
      this.#settings = settings;
    };
    return { settings, commit };
  }

  /** The system takes back a port that nobody listens on. Those who come next must have the one that clients know. */
  keepPorts(): void {
    if (this.#started === undefined || this.#ports.port !== undefined) return;
    const [port, adminPort] = [this.#started.baseUrl, this.#started.adminBaseUrl].map(portOf);
    this.#ports = { ...(port !== undefined && { port }), ...(adminPort !== undefined && { adminPort }) };
    this.#settings = toWorkerSettings(this.#config, this.#ports);
  }
}

/** Undefined for the port that the scheme stands for. */
function portOf(url: string): number | undefined {
  const { port } = new URL(url);
  return port === '' ? undefined : Number(port);
}
