import { Counter, collectDefaultMetrics, Gauge, type Metric, Registry } from 'prom-client';
import type { AlertObserver } from '../core/entities/alert.ts';
import type { EndedEngineRequest, EngineState } from '../core/entities/server.ts';
import type { Operation, RecordEnd, RecordStart, RequestObserver } from '../core/entities/usage.ts';
import { type NanoCredits, nanoCreditsPerCredit } from '../core/values/money.ts';

/** Requests with a valid key since the start. */
export interface RequestCounts {
  readonly begun: number;
  readonly running: number;
}

export interface Metrics {
  readonly observer: RequestObserver;
  readonly requests: () => RequestCounts;
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
  readonly engines: () => readonly EngineState[];
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
    ready.set(Number(sources.isReady())),
  );
  const perEngine = (name: string, help: string, read: (engine: EngineState) => number | undefined) =>
    gauge(name, help, ['engine'], (values) => {
      values.reset();
      for (const engine of engines()) {
        const value = read(engine);
        if (value !== undefined) values.set({ engine: engine.name }, value);
      }
    });
  perEngine('parley_engine_up', '1 if an engine can be reached, else 0.', ({ isUp }) => Number(isUp));
  perEngine('parley_engine_calls_waiting', 'Calls that wait for an engine.', ({ waiting }) => waiting);
  perEngine(
    'parley_engine_requests_running',
    'Requests that have not ended.',
    ({ requests }) => requests.running,
  );
  perEngine(
    'parley_program_memory_bytes',
    'Memory of a program as last measured.',
    ({ program }) => program?.memoryBytes,
  );
  gauge('parley_program_state', 'Always 1, with the state of a program.', ['engine', 'state'], (states) => {
    states.reset();
    for (const { name: engine, program } of engines())
      if (program) states.set({ engine, state: program.state }, 1);
  });
  new Counter({
    name: 'parley_program_starts_total',
    help: 'Starts of a program.',
    labelNames: ['engine'],
    registers: [registry],
    collect() {
      this.reset();
      for (const { name: engine, program } of engines()) if (program) this.inc({ engine }, program.starts);
    },
  });
  gauge('parley_buffered_bytes', 'Bytes of request bodies that may be in memory.', [], (buffered) =>
    buffered.set(sources.bufferedBytes()),
  );
  gauge('parley_log_lines_lost', 'Lines of the log that could not be written, since the start.', [], (lost) =>
    lost.set(sources.logLinesLost()),
  );
  const { counts, ...observer } = observeRequests(registry, isModel, observeLive(metrics));
  return {
    observer,
    requests: counts,
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
    began: (): void => {
      sessions++;
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

export const durationBuckets = [0.005, 0.02, 0.1, 0.5, 1, 2.5, 10, 30, 120, 600];
export const firstOutputBuckets = [0.005, 0.02, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10, 60];
const nanoPerCredit = Number(nanoCreditsPerCredit);
/** Stands for every model outside the catalog, so that clients cannot create time series. */
const otherModel = 'other';

/** Creates the metrics of one registry. */
export function metricsIn(registry: Registry) {
  const registers = [registry];
  return {
    counter: <Label extends string>(name: string, help: string, labelNames: Label[] = []) =>
      new Tally((collect) => new Counter({ name, help, labelNames, registers, collect })),
    /** @param read sets the values when the metric is read */
    gauge: <Label extends string>(
      name: string,
      help: string,
      labelNames: Label[],
      read: (gauge: Gauge<Label>) => void,
    ) => {
      const gauge: Gauge<Label> = new Gauge({
        name,
        help,
        labelNames,
        registers,
        collect: () => read(gauge),
      });
    },
    histogram: <Label extends string = never>(name: string, help: string, bounds: readonly number[]) =>
      new Histogram<Label>(registry, name, help, bounds),
  };
}

export type Instruments = ReturnType<typeof metricsIn>;

/** The value of a metric for one set of labels. */
interface Cell {
  value: number;
}

/** Values by one label after the other: a chat finds nine, and a key of all labels would be made and hashed for each. */
class Level<Value> {
  readonly next = new Map<string, Level<Value>>();
  cell: Value | undefined;
}

/** The values of a metric, one for each set of labels. */
abstract class Cells<Label extends string, Value> {
  readonly #create: () => Value;
  readonly #first = new Level<Value>();
  protected readonly all: { readonly labels: Record<Label, string>; readonly cell: Value }[] = [];

  constructor(create: () => Value) {
    this.#create = create;
  }

  /** @param labels always in the same order */
  cell(labels: Record<Label, string>): Value {
    let level = this.#first;
    for (const name in labels) {
      let next = level.next.get(labels[name]);
      if (next === undefined) {
        next = new Level();
        level.next.set(labels[name], next);
      }
      level = next;
    }
    if (level.cell === undefined) {
      level.cell = this.#create();
      this.all.push({ labels, cell: level.cell });
    }
    return level.cell;
  }
}

/**
 * Values that requests change in place. The metric gets them only when it is read, as finding a value by its labels
 * costs as much as everything else.
 */
class Tally<Label extends string> extends Cells<Label, Cell> {
  constructor(create: (collect: () => void) => Counter<Label>) {
    super(() => ({ value: 0 }));
    const metric = create(() => {
      metric.reset();
      for (const { labels, cell } of this.all) metric.inc(labels, cell.value);
    });
  }
}

/**
 * Counts requests as they end. Every label has few values: operation, wire, state and code are fixed words, a model is
 * one of the catalog.
 * @param isModel whether the catalog has a model of that id now
 */
function observeRequests(
  registry: Registry,
  isModel: (id: string) => boolean,
  live: ReturnType<typeof observeLive>,
): RequestObserver & { readonly counts: () => RequestCounts } {
  const metrics = metricsIn(registry);
  const { began, held, released, counts } = observeRunning(metrics);
  const count = countEnded(metrics);
  const refusedKeys = metrics.counter('parley_refused_keys_total', 'Requests without a valid key.', ['wire']);
  const modelOf = ({ model = '' }: RecordStart) => (model === '' || isModel(model) ? model : otherModel);
  return {
    began: (start) => {
      began(start);
      if (start.live === 'session') live.began();
    },
    counts,
    held,
    recognised: live.recognised,
    ended: (start, end, hold) => {
      const model = modelOf(start);
      released(start, hold);
      count(model, start, end);
      if (start.live !== undefined) live.ended(model, start, end);
    },
    refusedKey: (wire) => {
      refusedKeys.cell({ wire }).value++;
    },
  };
}

/** Tracks running requests and their holds. */
function observeRunning(metrics: Instruments) {
  const running = new Map<Operation, number>();
  let begun = 0;
  let holds = 0;
  let heldNano = 0;
  metrics.gauge(
    'parley_requests_running',
    'Requests with a valid key that have not ended.',
    ['operation'],
    (gauge) => {
      for (const [operation, value] of running) gauge.set({ operation }, value);
    },
  );
  metrics.gauge('parley_holds', 'Chat requests that hold credits.', [], (gauge) => gauge.set(holds));
  metrics.gauge('parley_held_credits', 'Credits that running chat requests hold.', [], (gauge) =>
    gauge.set(heldNano / nanoPerCredit),
  );
  const change = (operation: Operation, by: number) =>
    running.set(operation, (running.get(operation) ?? 0) + by);
  return {
    counts: () => ({ begun, running: [...running.values()].reduce((sum, value) => sum + value, 0) }),
    began: ({ operation }: RecordStart): void => {
      begun++;
      change(operation, 1);
    },
    held: (amount: NanoCredits): void => {
      holds++;
      heldNano += Number(amount);
    },
    released: ({ operation }: RecordStart, hold: NanoCredits | undefined): void => {
      change(operation, -1);
      if (hold === undefined) return;
      holds--;
      heldNano -= Number(hold);
    },
  };
}

/** Counts ended requests, and the tokens, audio, characters, credits and units that they use. */
function countEnded(metrics: Instruments) {
  const requests = metrics.counter(
    'parley_requests_total',
    'Ended requests with a valid key, as in their usage records.',
    ['operation', 'wire', 'model', 'state', 'code'],
  );
  const durations = metrics.histogram<'operation' | 'wire'>(
    'parley_request_duration_seconds',
    'Time from the arrival of a request to its end.',
    durationBuckets,
  );
  const firstOutputs = metrics.histogram<'operation' | 'wire'>(
    'parley_first_output_seconds',
    'Time from the arrival of a request to the first part of its response.',
    firstOutputBuckets,
  );
  const tokens = metrics.counter('parley_tokens_total', 'Tokens of charged chat requests.', [
    'model',
    'kind',
    'source',
  ]);
  const credits = metrics.counter('parley_credits_spent_total', 'Credits debited for chat requests.', [
    'model',
  ]);
  const countAudio = countAudioUse(metrics);
  return (model: string, start: RecordStart, end: RecordEnd): void => {
    const { operation, wire, live } = start;
    const { state, code = '', tokens: used, cost, durationMs, firstOutputMs } = end;
    requests.cell({ operation, wire, model, state, code }).value++;
    // The requests of a session last as long as people speak.
    if (live === undefined) {
      durations.cell({ operation, wire }).observe(durationMs / 1000);
      if (firstOutputMs !== undefined) firstOutputs.cell({ operation, wire }).observe(firstOutputMs / 1000);
    }
    if (used) {
      const { source, promptTokens, completionTokens } = used;
      tokens.cell({ model, kind: 'prompt', source }).value += promptTokens;
      tokens.cell({ model, kind: 'completion', source }).value += completionTokens;
    }
    if (cost) credits.cell({ model }).value += Number(cost) / nanoPerCredit;
    countAudio(model, start, end);
  };
}

function countAudioUse(metrics: Instruments) {
  const audio = metrics.counter(
    'parley_audio_seconds_total',
    'Seconds of audio: in for transcription, out as speech.',
    ['model', 'direction'],
  );
  const characters = metrics.counter('parley_characters_total', 'Characters of speech input.', ['model']);
  const units = metrics.counter('parley_fair_use_units_total', 'Fair-use units that requests used.', [
    'operation',
  ]);
  return (model: string, { operation, characters: count }: RecordStart, end: RecordEnd): void => {
    if (end.audioMsIn) audio.cell({ model, direction: 'in' }).value += end.audioMsIn / 1000;
    if (end.audioMsOut) audio.cell({ model, direction: 'out' }).value += end.audioMsOut / 1000;
    if (count) characters.cell({ model }).value += count;
    if (end.fairUseUnits) units.cell({ operation }).value += end.fairUseUnits;
  };
}

/** The observations for one set of labels. They change in place, at a fiftieth of the cost of prom-client's. */
class Distribution {
  readonly bounds: readonly number[];
  /** How many observations fall between a bound and the one before it; the last are above all bounds. */
  readonly counts: number[];
  sum = 0;

  constructor(bounds: readonly number[]) {
    this.bounds = bounds;
    this.counts = new Array(bounds.length + 1).fill(0);
  }

  observe(value: number): void {
    let at = 0;
    while (value > (this.bounds[at] ?? Infinity)) at++;
    this.counts[at] = (this.counts[at] ?? 0) + 1;
    this.sum += value;
  }
}

/** A histogram, as the registry reads it. */
export class Histogram<Label extends string> extends Cells<Label, Distribution> {
  readonly #name: string;

  constructor(registry: Registry, name: string, help: string, bounds: readonly number[]) {
    super(() => new Distribution(bounds));
    this.#name = name;
    const facts = { name, help, type: 'histogram', aggregator: 'sum' };
    const metric = { ...facts, get: async () => ({ ...facts, values: this.#values() }) };
    // The registry only calls `get`, which the types do not say.
    registry.registerMetric(metric as unknown as Metric);
  }

  #values() {
    const [bucket, sum, count] = ['bucket', 'sum', 'count'].map((part) => `${this.#name}_${part}`);
    return this.all.flatMap(({ labels, cell }) => {
      let total = 0;
      const buckets = cell.counts.map((value, at) => {
        total += value;
        return { labels: { le: cell.bounds[at] ?? '+Inf', ...labels }, value: total, metricName: bucket };
      });
      return [
        ...buckets,
        { labels, value: cell.sum, metricName: sum },
        { labels, value: total, metricName: count },
      ];
    });
  }
}
