import { Counter, Gauge, type Metric, type Registry } from 'prom-client';
import type { Operation, RecordEnd, RecordStart, RequestObserver } from '../core/entities/usage.ts';
import { type NanoCredits, nanoCreditsPerCredit } from '../core/values/money.ts';

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

/** The values of a metric, one for each set of labels. */
abstract class Cells<Label extends string, Value> {
  readonly #create: () => Value;
  readonly #cells = new Map<string, { readonly labels: Record<Label, string>; readonly cell: Value }>();

  constructor(create: () => Value) {
    this.#create = create;
  }

  cell(labels: Record<Label, string>): Value {
    const key = Object.values(labels).join('\n');
    const { cell } = this.#cells.get(key) ?? { cell: this.#create() };
    this.#cells.set(key, { labels, cell });
    return cell;
  }

  protected get all() {
    return [...this.#cells.values()];
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

/** Observes live speech. */
interface LiveObserver extends Pick<RequestObserver, 'began' | 'recognised'> {
  ended(model: string, start: RecordStart, end: RecordEnd): void;
}

/**
 * Counts requests as they end. Every label has few values: operation, wire, state and code are fixed words, a model is
 * one of the catalog.
 * @param isModel whether the catalog has a model of that id now
 */
export function observeRequests(
  registry: Registry,
  isModel: (id: string) => boolean,
  live: LiveObserver,
): RequestObserver {
  const metrics = metricsIn(registry);
  const { began, held, released } = observeRunning(metrics);
  const count = countEnded(metrics);
  const refusedKeys = metrics.counter('parley_refused_keys_total', 'Requests without a valid key.', ['wire']);
  const modelOf = ({ model = '' }: RecordStart) => (model === '' || isModel(model) ? model : otherModel);
  return {
    began: (start) => {
      began(start);
      live.began(start);
    },
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
    began: ({ operation }: RecordStart): void => void change(operation, 1),
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

/** The metrics that requests with the same outcome share. */
interface Ended {
  readonly requests: Cell;
  durations?: Distribution;
  firstOutputs?: Distribution;
  readonly prompt: Cell | undefined;
  readonly completion: Cell | undefined;
  credits?: Cell;
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
  const known = new Map<string, Ended>();
  const cellsOf = (
    model: string,
    { operation, wire }: RecordStart,
    { state, code = '', tokens: used }: RecordEnd,
  ) => {
    const source = used?.source;
    // The other parts are fixed words, so a model with spaces in its id is still one part.
    const key = `${operation} ${wire} ${model} ${state} ${code} ${source}`;
    const cells: Ended = known.get(key) ?? {
      requests: requests.cell({ operation, wire, model, state, code }),
      prompt: source && tokens.cell({ model, kind: 'prompt', source }),
      completion: source && tokens.cell({ model, kind: 'completion', source }),
    };
    known.set(key, cells);
    return cells;
  };
  return (model: string, start: RecordStart, end: RecordEnd): void => {
    const ended = cellsOf(model, start, end);
    ended.requests.value++;
    // The requests of a session last as long as people speak.
    if (start.live === undefined) {
      const { operation, wire } = start;
      ended.durations ??= durations.cell({ operation, wire });
      ended.durations.observe(end.durationMs / 1000);
      if (end.firstOutputMs !== undefined) {
        ended.firstOutputs ??= firstOutputs.cell({ operation, wire });
        ended.firstOutputs.observe(end.firstOutputMs / 1000);
      }
    }
    if (ended.prompt) ended.prompt.value += end.tokens?.promptTokens ?? 0;
    if (ended.completion) ended.completion.value += end.tokens?.completionTokens ?? 0;
    if (end.cost) {
      ended.credits ??= credits.cell({ model });
      ended.credits.value += Number(end.cost) / nanoPerCredit;
    }
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
