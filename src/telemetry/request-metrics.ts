import { Counter, Gauge, Histogram, type Registry } from 'prom-client';
import { nanoCreditsPerCredit } from '../core/billing/money.ts';
import type { RequestObserver } from '../core/ports/observer.ts';
import type { RecordEnd, RecordStart } from '../core/ports/usage.ts';

const durationBuckets = [0.005, 0.02, 0.1, 0.5, 1, 2.5, 10, 30, 120, 600];
const firstOutputBuckets = [0.005, 0.02, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10, 60];
const nanoPerCredit = Number(nanoCreditsPerCredit);
/** Stands for every model outside the catalog, so that clients cannot create time series. */
const otherModel = 'other';

/**
 * Counts requests as they end. Every label has few values: operation, wire, state and code are fixed words, a model is one
 * of the catalog.
 *
 * @param isModel whether the catalog has a model of that id now
 */
export function observeRequests(registry: Registry, isModel: (id: string) => boolean): RequestObserver {
  const registers = [registry];
  const requests = new Counter({
    name: 'parley_requests_total',
    help: 'Ended requests with a valid key, as in their usage records.',
    labelNames: ['operation', 'wire', 'model', 'state', 'code'],
    registers,
  });
  const durations = new Histogram({
    name: 'parley_request_duration_seconds',
    help: 'Time from the arrival of a request to its end.',
    labelNames: ['operation', 'wire'],
    buckets: durationBuckets,
    registers,
  });
  const firstOutputs = new Histogram({
    name: 'parley_first_output_seconds',
    help: 'Time from the arrival of a request to the first part of its response.',
    labelNames: ['operation', 'wire'],
    buckets: firstOutputBuckets,
    registers,
  });
  const running = new Gauge({
    name: 'parley_requests_running',
    help: 'Requests with a valid key that have not ended.',
    labelNames: ['operation'],
    registers,
  });
  const holds = new Gauge({ name: 'parley_holds', help: 'Chat requests that hold credits.', registers });
  const heldCredits = new Gauge({
    name: 'parley_held_credits',
    help: 'Credits that running chat requests hold.',
    registers,
  });
  const refusedKeys = new Counter({
    name: 'parley_refused_keys_total',
    help: 'Requests without a valid key.',
    labelNames: ['wire'],
    registers,
  });
  const amounts = observeAmounts(registry);
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
function observeAmounts(registry: Registry) {
  const registers = [registry];
  const tokens = new Counter({
    name: 'parley_tokens_total',
    help: 'Tokens of charged chat requests.',
    labelNames: ['model', 'kind', 'source'],
    registers,
  });
  const credits = new Counter({
    name: 'parley_credits_spent_total',
    help: 'Credits debited for chat requests.',
    labelNames: ['model'],
    registers,
  });
  const audio = new Counter({
    name: 'parley_audio_seconds_total',
    help: 'Seconds of audio: in for transcription, out as speech.',
    labelNames: ['model', 'direction'],
    registers,
  });
  const characters = new Counter({
    name: 'parley_characters_total',
    help: 'Characters of speech input.',
    labelNames: ['model'],
    registers,
  });
  const units = new Counter({
    name: 'parley_fair_use_units_total',
    help: 'Fair-use units that requests used.',
    labelNames: ['operation'],
    registers,
  });
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
