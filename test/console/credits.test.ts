/** Amounts of credits as the console shows them. */
import { describe, expect, it } from 'vitest';
import { creditsText, placesOf } from '../../console/app/credits.ts';

describe('credits', () => {
  it.each<[bigint, string]>([
    [9_997_500_000n, '9.99'],
    [10_000_000_000n, '10.00'],
    [-500_000_000n, '-0.50'],
    [123_456n, '0.00012'],
    [9_007_199_254_740_993_129_999_999n, '9,007,199,254,740,993.12'],
  ])('of %d nano-credits are never shown as more: %s', (nano, text) => {
    expect(creditsText(nano)).toBe(text);
  });

  it('of a column have the decimals that make its rows add up', () => {
    const column = [12_500_000_000n, -18_000n, -1_250_000n];
    expect(column.map((nano) => creditsText(nano, placesOf(column)))).toEqual([
      '12.500000',
      '-0.000018',
      '-0.001250',
    ]);
  });
});
