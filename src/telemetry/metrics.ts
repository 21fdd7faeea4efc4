import { collectDefaultMetrics, Registry } from 'prom-client';
import type { EndedEngineRequest, EngineRequests } from '../core/entities/engine-requests.ts';
import type { RequestObserver } from '../core/entities/request-observer.ts';
import type { ProgramState } from '../core/entities/server.ts';
import type { AlertObserver } from '../core/entities/webhook.ts';
import { observeAlerts } from './alert-metrics.ts';
import { observeEngines } from './engine-metrics.ts';
import { observeLive } from './live-metrics.ts';
import { observePrograms } from './program-metrics.ts';
import { metricsIn, observeRequests } from './request-metrics.ts';

/** The state of an engine when the metrics are read. */
export interface EngineReading {
  readonly engine: string;
  readonly isUp: boolean;
  /** Calls that wait for the engine. */
  readonly waiting: number;
  /** Set if the engine is a program that Parley starts. */
  readonly program?: ProgramState;
  readonly requests: EngineRequests;
}

export interface Metrics {
  readonly observer: RequestObserver;
  readonly alerts: AlertObserver;
  /** A request to an engine has ended. */
  readonly engineRequest: (ended: EndedEngineRequest) => void;
  /** In the text format of Prometheus. */
  text(): Promise<string>;
  readonly contentType: string;
}

interface MetricsSources {
  readonly version: string;
  /** Whether the catalog has a model of that id now. */
  readonly isModel: (id: string) => boolean;
  readonly engines: () => readonly EngineReading[];
  /** Whether load balancers should send requests now. */
  readonly isReady: () => boolean;
  /** Bytes of request bodies that may be in memory now. */
  readonly bufferedBytes: () => number;
  /** Lines of the log that were lost since the start. */
  readonly logLinesLost: () => number;
}

/** Gauges of the library that are named like counters. They only sum others, such as `nodejs_active_handles`. */
const misnamed = ['handles', 'requests', 'resources'].map((what) => `nodejs_active_${what}_total`);

/** All servers in a process share these: to collect them takes a timer every 10 ms and an observer of the heap, which nothing stops. */
let ofProcess: Registry | undefined;

function collectOfProcess(): Registry {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  for (const name of misnamed) registry.removeSingleMetric(name);
  return registry;
}

/** Metrics of requests and engines, and of this process's memory, CPU and event loop. Each call has its own registry. */
export function createMetrics(sources: MetricsSources): Metrics {
  const { version, isModel, engines } = sources;
  ofProcess ??= collectOfProcess();
  const registry = Registry.merge([ofProcess]);
  const metrics = metricsIn(registry);
  const { gauge } = metrics;
  gauge('parley_info', 'The version of this server.', ['version'], (info) => info.set({ version }, 1));
  gauge('parley_ready', '1 if GET /readyz answers 200, else 0.', [], (ready) =>
    ready.set(sources.isReady() ? 1 : 0),
  );
  gauge('parley_engine_up', '1 if an engine can be reached, else 0.', ['engine'], (up) => {
    for (const { engine, isUp } of engines()) up.set({ engine }, isUp ? 1 : 0);
  });
  gauge('parley_engine_calls_waiting', 'Calls that wait for an engine.', ['engine'], (calls) => {
    for (const { engine, waiting } of engines()) calls.set({ engine }, waiting);
  });
  gauge('parley_engine_requests_running', 'Requests that have not ended.', ['engine'], (running) => {
    running.reset();
    for (const { engine, requests } of engines()) running.set({ engine }, requests.running);
  });
  observePrograms(registry, engines);
  gauge('parley_buffered_bytes', 'Bytes of request bodies that may be in memory.', [], (buffered) =>
    buffered.set(sources.bufferedBytes()),
  );
  gauge('parley_log_lines_lost', 'Lines of the log that could not be written, since the start.', [], (lost) =>
    lost.set(sources.logLinesLost()),
  );
  return {
    observer: observeRequests(registry, isModel, observeLive(metrics)),
    alerts: observeAlerts(registry),
    engineRequest: observeEngines(metrics),
    contentType: registry.contentType,
    text: () => registry.metrics(),
  };
}
