import { Counter, Gauge, Histogram, type Registry } from 'prom-client';
import { nanoCreditsPerCredit } from '../core/billing/money.ts';
import type { RequestObserver } from '../core/ports/observer.ts';
import type { RecordEnd, RecordStart } from '../core/ports/usage.ts';

const durationBuckets = [0.005, 0.02, 0.1, 0.5, 1, 2.5, 10, 30, 120, 600];
const firstOutputBuckets = [0.005, 0.02, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10, 60];
const nanoPerCredit = Number(nanoCreditsPerCredit);
/** Stands for every model outside the catalog, so that clients cannot create time series. */
const otherModel = 'other';

/** Makes the metrics of one registry. */
export function metricsIn(registry: Registry) {
  const registers = [registry];
  return {
    counter: <Label extends string>(name: string, help: string, labelNames: Label[] = []) =>
      new Counter({ name, help, labelNames, registers }),
    gauge: <Label extends string>(name: string, help: string, labelNames: Label[] = []) =>
      new Gauge({ name, help, labelNames, registers }),
    histogram: <Label extends string>(name: string, help: string, labelNames: Label[], buckets: number[]) =>
      new Histogram({ name, help, labelNames, buckets, registers }),
  };
}

/**
 * Counts requests as they end. Every label has few values: operation, wire, state and code are fixed words, a model is one
 * of the catalog.
 *
 * @param isModel whether the catalog has a model of that id now
 */
export function observeRequests(registry: Registry, isModel: (id: string) => boolean): RequestObserver {
  const metrics = metricsIn(registry);
  const requests = metrics.counter(
    'parley_requests_total',
    'Ended requests with a valid key, as in their usage records.',
    ['operation', 'wire', 'model', 'state', 'code'],
  );
  const durations = metrics.histogram(
    'parley_request_duration_seconds',
    'Time from the arrival of a request to its end.',
    ['operation', 'wire'],
    durationBuckets,
  );
  const firstOutputs = metrics.histogram(
    'parley_first_output_seconds',
    'Time from the arrival of a request to the first part of its response.',
    ['operation', 'wire'],
    firstOutputBuckets,
  );
  const running = metrics.gauge('parley_requests_running', 'Requests with a valid key that have not ended.', [
    'operation',
  ]);
  const holds = metrics.gauge('parley_holds', 'Chat requests that hold credits.');
  const heldCredits = metrics.gauge('parley_held_credits', 'Credits that running chat requests hold.');
  const refusedKeys = metrics.counter('parley_refused_keys_total', 'Requests without a valid key.', ['wire']);
  const amounts = observeAmounts(metrics);
  const modelOf = ({ model = '' }: RecordStart) => (model === '' || isModel(model) ? model : otherModel);
  return {
    began: ({ operation }) => running.inc({ operation }),
    held: (amount) => {
      holds.inc();
      heldCredits.inc(Number(amount) / nanoPerCredit);
    },
    ended: (start, end, held) => {
      const { operation, wire } = start;
      const model = modelOf(start);
      running.dec({ operation });
      if (held !== undefined) {
        holds.dec();
        heldCredits.dec(Number(held) / nanoPerCredit);
      }
      requests.inc({ operation, wire, model, state: end.state, code: end.code ?? '' });
      durations.observe({ operation, wire }, end.durationMs / 1000);
      if (end.firstOutputMs !== undefined) {
        firstOutputs.observe({ operation, wire }, end.firstOutputMs / 1000);
      }
      amounts(model, start, end);
    },
    refusedKey: (wire) => refusedKeys.inc({ wire }),
  };
}

/** Counts the tokens, audio, characters, credits and units that requests use. */
function observeAmounts(metrics: ReturnType<typeof metricsIn>) {
  const tokens = metrics.counter('parley_tokens_total', 'Tokens of charged chat requests.', [
    'model',
    'kind',
    'source',
  ]);
  const credits = metrics.counter('parley_credits_spent_total', 'Credits debited for chat requests.', [
    'model',
  ]);
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
    if (end.tokens) {
      const { promptTokens, completionTokens, source } = end.tokens;
      tokens.inc({ model, kind: 'prompt', source }, promptTokens);
      tokens.inc({ model, kind: 'completion', source }, completionTokens);
    }
    if (end.cost) credits.inc({ model }, Number(end.cost) / nanoPerCredit);
    if (end.audioMsIn) audio.inc({ model, direction: 'in' }, end.audioMsIn / 1000);
    if (end.audioMsOut) audio.inc({ model, direction: 'out' }, end.audioMsOut / 1000);
    if (count) characters.inc({ model }, count);
    if (end.fairUseUnits) units.inc({ operation }, end.fairUseUnits);
  };
}
