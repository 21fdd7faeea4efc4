import { collectDefaultMetrics, Gauge, Registry } from 'prom-client';
import type { RequestObserver } from '../core/ports/observer.ts';
import { observeRequests } from './request-metrics.ts';

/** What is read when the metrics are: how engines are doing at that moment. */
export interface EngineReading {
  readonly engine: string;
  /** Whether it can be reached. */
  readonly isUp: boolean;
  readonly waiting: number;
}

export interface Metrics {
  readonly observer: RequestObserver;
  /** In the text format of Prometheus. */
  text(): Promise<string>;
  readonly contentType: string;
}

export interface MetricsSources {
  readonly version: string;
  /** Whether the catalog has a model of that id now. */
  readonly isModel: (id: string) => boolean;
  readonly engines: () => readonly EngineReading[];
}

/** Metrics of this process, with those of its memory, CPU and event loop. A registry of their own each: tests run many. */
export function createMetrics({ version, isModel, engines }: MetricsSources): Metrics {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  const registers = [registry];
  new Gauge({
    name: 'parley_info',
    help: 'The version of this server.',
    labelNames: ['version'],
    registers,
  }).set({ version }, 1);
  const labelNames = ['engine'];
  const up = new Gauge({
    name: 'parley_engine_up',
    help: '1 where an engine can be reached, 0 where it cannot.',
    labelNames,
    registers,
  });
  const waiting = new Gauge({
    name: 'parley_engine_calls_waiting',
    help: 'Calls that wait for an engine.',
    labelNames,
    registers,
  });
  const readEngines = () => {
    for (const { engine, isUp, waiting: queued } of engines()) {
      up.set({ engine }, isUp ? 1 : 0);
      waiting.set({ engine }, queued);
    }
  };
  return {
    observer: observeRequests(registry, isModel),
    contentType: registry.contentType,
    text: () => {
      readEngines();
      return registry.metrics();
    },
  };
}
