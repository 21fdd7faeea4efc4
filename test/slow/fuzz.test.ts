/**
 * Fuzzes every parser for a few seconds, with different inputs in each run. An input that fails is in test/fuzz/corpus
 * afterwards. `npm run fuzz -- --minutes 10` takes longer.
 *
 *   PARLEY_FUZZ_SEED=7 npm test -- test/slow/fuzz.test.ts
 */
import { expect, it } from 'vitest';
import { fuzz } from '../fuzz/fuzz.ts';
import { targets } from '../fuzz/targets/index.ts';

const seed = Number(process.env['PARLEY_FUZZ_SEED'] ?? Date.now() % 2 ** 32);
const forMs = 8_000;

it.each(Object.keys(targets))('%s withstands random inputs', async (name) => {
  const { inputs, crashes } = await fuzz(name, { seed, forMs });
  process.stdout.write(`${name}: ${inputs} inputs, PARLEY_FUZZ_SEED=${seed}\n`);
  expect(crashes).toEqual([]);
  expect(inputs).toBeGreaterThan(0);
});
