import { Counter, collectDefaultMetrics, Registry } from 'prom-client';
import type { AlertObserver } from '../core/entities/alert.ts';
import type { EndedEngineRequest, EngineRequests, ProgramState } from '../core/entities/server.ts';
import type { RecordEnd, RecordStart, RequestObserver } from '../core/entities/usage.ts';
import {
  durationBuckets,
  firstOutputBuckets,
  type Instruments,
  metricsIn,
  observeRequests,
} from './request-metrics.ts';

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

function observeAlerts(registry: Registry): AlertObserver {
  const { counter } = metricsIn(registry);
  const raised = counter('parley_alerts_raised_total', 'Alerts that were raised.', ['type']);
  const attempts = counter(
    'parley_alert_attempts_total',
    'Attempts to deliver an alert: delivered, failed, or given_up after the last one.',
    ['outcome'],
  );
  // Prometheus sees no increase in a series that begins above 0.
  for (const outcome of ['delivered', 'failed', 'given_up']) attempts.cell({ outcome });
  return {
    raised: (type) => {
      raised.cell({ type }).value++;
    },
    attempted: (outcome) => {
      attempts.cell({ outcome }).value++;
    },
  };
}

/** Requests by engine and model. Both names come from the configuration, so there are few time series. */
function observeEngines(metrics: Instruments): (ended: EndedEngineRequest) => void {
  const requests = metrics.counter('parley_engine_requests_total', 'Ended requests to an engine.', [
    'engine',
    'model',
    'outcome',
  ]);
  const firstOutputs = metrics.histogram<'engine' | 'model'>(
    'parley_engine_first_output_seconds',
    'Time from a request to an engine to the first part of its answer.',
    firstOutputBuckets,
  );
  const durations = metrics.histogram<'engine' | 'model'>(
    'parley_engine_duration_seconds',
    'Time from a request to an engine to the end of its whole answer.',
    durationBuckets,
  );
  return ({ engine, model, outcome, firstOutputMs, durationMs }) => {
    requests.cell({ engine, model, outcome }).value++;
    if (firstOutputMs !== undefined) firstOutputs.cell({ engine, model }).observe(firstOutputMs / 1000);
    if (outcome === 'ok') durations.cell({ engine, model }).observe(durationMs / 1000);
  };
}

interface ProgramEngine {
  readonly engine: string;
  readonly program?: ProgramState;
}

/** Metrics of the programs that Parley starts. An engine of another kind has none. */
function observePrograms(registry: Registry, engines: () => readonly ProgramEngine[]): void {
  const { gauge } = metricsIn(registry);
  const programs = () =>
    engines().flatMap(({ engine, program }) => (program === undefined ? [] : [{ engine, ...program }]));
  gauge('parley_program_state', 'Always 1, with the state of a program.', ['engine', 'state'], (states) => {
    states.reset();
    for (const { engine, state } of programs()) states.set({ engine, state }, 1);
  });
  gauge('parley_program_memory_bytes', 'Memory of a program as last measured.', ['engine'], (memory) => {
    memory.reset();
    for (const { engine, memoryBytes } of programs()) memory.set({ engine }, memoryBytes);
  });
  new Counter({
    name: 'parley_program_starts_total',
    help: 'Starts of a program.',
    labelNames: ['engine'],
    registers: [registry],
    collect() {
      this.reset();
      for (const { engine, starts } of programs()) this.inc({ engine }, starts);
    },
  });
}

const delayBuckets = [0.02, 0.05, 0.1, 0.25, 0.5, 1, 2, 5, 10, 30];

/** Sessions of live speech and their turns, which last as long as people speak: no other request is compared with them. */
function observeLive(metrics: Instruments) {
  let sessions = 0;
  metrics.gauge('parley_live_sessions', 'Sessions of live speech that have not ended.', [], (gauge) =>
    gauge.set(sessions),
  );
  const turns = metrics.counter('parley_live_turns_total', 'Ended turns of live speech.', ['model', 'state']);
  const seconds = metrics.counter('parley_live_speech_seconds_total', 'Seconds of speech in ended turns.', [
    'model',
  ]);
  const delays = metrics
    .histogram(
      'parley_live_final_seconds',
      'Time from the end of a turn of live speech to its text.',
      delayBuckets,
    )
    .cell({});
  return {
    began: ({ live }: RecordStart): void => {
      if (live === 'session') sessions++;
    },
    recognised: (delayMs: number): void => delays.observe(delayMs / 1000),
    ended: (model: string, { live }: RecordStart, { state, audioMsIn = 0 }: RecordEnd): void => {
      if (live === 'session') {
        sessions--;
        return;
      }
      turns.cell({ model, state }).value++;
      seconds.cell({ model }).value += audioMsIn / 1000;
    },
  };
}
