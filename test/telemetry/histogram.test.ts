/** Our histograms read as those of prom-client. */
import { Histogram as Reference, Registry } from 'prom-client';
import { expect, it } from 'vitest';
import { Histogram } from '../../src/telemetry/histogram.ts';

const [name, help, buckets] = ['waits_seconds', 'Waits.', [0.1, 0.5, 1]];

it('prints what the histogram of prom-client prints', async () => {
  const [ours, theirs] = [new Registry(), new Registry()];
  const waits = new Histogram<'wire' | 'operation'>(ours, name, help, buckets);
  const reference = new Reference({
    ...{ name, help, buckets, labelNames: ['wire', 'operation'] },
    registers: [theirs],
  });
  expect(await ours.metrics()).toBe(await theirs.metrics());
  for (const [wire, value] of [
    ...[['rest', 0.1] as const, ['rest', 0.1000001] as const, ['grpc', 0] as const],
    ...[['rest', 1] as const, ['grpc', 1.5] as const, ['grpc', 700] as const],
  ]) {
    waits.cell({ wire, operation: 'a "chat"' }).observe(value);
    reference.observe({ wire, operation: 'a "chat"' }, value);
  }
  expect(await ours.metrics()).toBe(await theirs.metrics());
});
