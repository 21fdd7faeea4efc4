import { getHeapCodeStatistics } from 'node:v8';
import { expect, it } from 'vitest';
import { collectGarbage, collectStart } from '../../src/threads/collect-garbage.ts';

const bytecodeBytes = () => getHeapCodeStatistics().bytecode_and_metadata_size;

it('drops code that has run once, which runs again all the same', () => {
  const sums = Array.from({ length: 5_000 }, (_, n) => `sum += ${n} * x;`);
  const run = new Function('x', `let sum = 0; ${sums.join('')} return sum;`);
  expect(run(1)).toBe(12_497_500);
  collectGarbage();
  const kept = bytecodeBytes();
  collectStart();
  expect(kept - bytecodeBytes()).toBeGreaterThan(20_000);
  expect(run(2)).toBe(24_995_000);
});
