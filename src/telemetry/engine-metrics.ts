import type { EndedEngineRequest } from '../core/entities/engine-requests.ts';
import { durationBuckets, firstOutputBuckets, type Metrics } from './request-metrics.ts';

/** Requests by engine and model. Both names come from the configuration, so there are few time series. */
export function observeEngines(metrics: Metrics): (ended: EndedEngineRequest) => void {
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
