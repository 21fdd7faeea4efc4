/** Our histograms read as those of prom-client. */
import { Histogram as Reference, Registry } from 'prom-client';
import { expect, it } from 'vitest';
import { Histogram } from '../../src/telemetry/metrics.ts';

const [name, help, buckets] = ['waits_seconds', 'Waits.', [0.1, 0.5, 1]];
const observed = [
  ['rest', 0.1],
  ['rest', 0.1000001],
  ['grpc', 0],
  ['rest', 1],
  ['grpc', 1.5],
  ['grpc', 700],
] as const;

it('prints what the histogram of prom-client prints', async () => {
  const [ours, theirs] = [new Registry(), new Registry()];
  const waits = new Histogram<'wire' | 'operation'>(ours, name, help, buckets);
  const labelNames = ['wire', 'operation'];
  const reference = new Reference({ name, help, buckets, labelNames, registers: [theirs] });
  expect(await ours.metrics()).toBe(await theirs.metrics());
  for (const [wire, value] of observed) {
    const labels = { wire, operation: 'a "chat"' };
    waits.cell(labels).observe(value);
    reference.observe(labels, value);
  }
  expect(await ours.metrics()).toBe(await theirs.metrics());
});
