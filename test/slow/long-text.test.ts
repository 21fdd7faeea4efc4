/** The longest texts are spoken to their end. Each becomes an hour of sound or more. */
import { afterAll, expect, it } from 'vitest';
import { createBuiltinSpeech } from '../../src/engines/builtin/speech.ts';
import { createEncoderPool } from '../../src/media/encoding/encode.ts';
import { energyOf, listen } from '../support/listen.ts';

const encoders = createEncoderPool({ threads: 1 });
const speech = createBuiltinSpeech({ threads: 2, queueMax: 100, encoders });
afterAll(async () => {
  await speech.close();
  await encoders.close();
});

/** No two neighbouring words are equal, as repeated words are spoken once. */
const emoji = Array.from({ length: 4_000 }, (_, index) => String.fromCodePoint(0x1f600 + (index % 80))).join(
  '',
);
const cpuMsMax = 240_000;

it.each([
  ['4,000 emoji', emoji],
  ['4,000 digits', '7'.repeat(4_000)],
])('%s', async (_, input) => {
  const before = process.cpuUsage();
  const samples = await listen(
    (signal) => speech.synthesize({ input, voice: 'kal', format: 'pcm' }, signal).audio,
    Number.POSITIVE_INFINITY,
  );
  const { user, system } = process.cpuUsage(before);
  expect((user + system) / 1000).toBeLessThan(cpuMsMax);
  expect(samples.length / 24_000).toBeGreaterThan(600);
  expect(energyOf(samples.subarray(-24_000))).toBeGreaterThan(50);
});
