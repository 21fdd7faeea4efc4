import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  cost,
  formatCredits,
  nanoCredits,
  nanoCreditsMax,
  nanoCreditsPerCredit,
  type Price,
  parseCredits,
  tokensPerPrice,
} from '../../../src/core/values/money.ts';

const amounts = fc.bigInt({ min: -nanoCreditsMax, max: nanoCreditsMax }).map(nanoCredits);
/** Up to a million credits per million tokens, far above any real model. */
const rates = fc.bigInt({ min: 0n, max: 1_000_000n * nanoCreditsPerCredit }).map(nanoCredits);
const prices: fc.Arbitrary<Price> = fc.record({ inputPerMillion: rates, outputPerMillion: rates });
const tokens = fc.record({
  promptTokens: fc.integer({ min: 0, max: 2_000_000 }),
  completionTokens: fc.integer({ min: 0, max: 2_000_000 }),
});

/** The exact cost in millionths of a nano-credit. */
const exactMillionths = (price: Price, count: { promptTokens: number; completionTokens: number }) =>
  price.inputPerMillion * BigInt(count.promptTokens) +
  price.outputPerMillion * BigInt(count.completionTokens);

const priceOf = (input: string, output: string): Price => ({
  inputPerMillion: parseCredits(input),
  outputPerMillion: parseCredits(output),
});

describe('reading an amount of credits', () => {
  it.each([
    ['0', 0n],
    ['0.15', 150_000_000n],
    ['0.1', 100_000_000n],
    ['0.123456789', 123_456_789n],
    ['0.000000001', 1n],
    ['12', 12_000_000_000n],
    ['12.50', 12_500_000_000n],
    ['007', 7_000_000_000n],
    ['-3.000000001', -3_000_000_001n],
    ['-0', 0n],
    ['9223372036.854775807', nanoCreditsMax],
  ])('reads %s exactly', (text, nano) => {
    expect(parseCredits(text)).toBe(nano);
  });

  it.each([
    '',
    ' 1',
    '1 ',
    '1.',
    '.5',
    '+1',
    '1e-3',
    '0x10',
    '1,5',
    '1_000',
    'NaN',
    'Infinity',
    '--1',
    '١',
    '1\n',
  ])('refuses %j and shows how to write it', (text) => {
    expect(() => parseCredits(text)).toThrow(
      /is not an amount of credits: write plain digits .* such as 0\.15/,
    );
  });

  it('refuses a tenth decimal and states the limit', () => {
    expect(() => parseCredits('0.1234567890')).toThrow(/more than 9 decimals/);
  });

  it.each(['9223372036.854775808', '-9223372036.854775808', '99999999999', '9'.repeat(100_000)])(
    'refuses more than a 64-bit column holds',
    (text) => {
      expect(() => parseCredits(text)).toThrow(/outside the range of an amount: at most 9223372036 credits/);
    },
  );

  it('refuses with the code invalid_parameter and shows no more than the start of a long text', () => {
    expect(() => parseCredits('x'.repeat(10_000))).toThrow(
      expect.objectContaining({ code: 'invalid_parameter', message: expect.stringMatching(/^.{0,160}$/) }),
    );
  });
});

describe('writing an amount of credits', () => {
  it.each([
    [0n, '0'],
    [150_000_000n, '0.15'],
    [1n, '0.000000001'],
    [-1n, '-0.000000001'],
    [12_000_000_000n, '12'],
  ])('%s nano-credits', (nano, text) => {
    expect(formatCredits(nanoCredits(nano))).toBe(text);
  });

  it('is read back as the same amount', () => {
    fc.assert(fc.property(amounts, (amount) => parseCredits(formatCredits(amount)) === amount));
  });

  it('is the shortest text of the amount', () => {
    fc.assert(
      fc.property(amounts, (amount) => /^(0|-?(0|[1-9]\d*)(\.\d{0,8}[1-9])?)$/.test(formatCredits(amount))),
    );
  });
});

describe('the cost of a request', () => {
  it('is the price of its tokens', () => {
    const count = { promptTokens: 1_000, completionTokens: 500 };
    expect(formatCredits(cost(priceOf('0.1', '0.4'), count))).toBe('0.0003');
  });

  it('rounds up once, at the end', () => {
    // A third of a nano-credit for each side: rounding each side would make two.
    const price = priceOf('0.000333333', '0.000333333');
    expect(cost(price, { promptTokens: 1, completionTokens: 1 })).toBe(1n);
  });

  it('is never below the exact figure, and less than one nano-credit above it', () => {
    fc.assert(
      fc.property(prices, tokens, (price, count) => {
        const above = cost(price, count) * tokensPerPrice - exactMillionths(price, count);
        return above >= 0n && above < tokensPerPrice;
      }),
    );
  });

  it('of two requests is at least that of both in one, and less than two nano-credits more', () => {
    fc.assert(
      fc.property(prices, tokens, tokens, (price, first, second) => {
        const apart = cost(price, first) + cost(price, second);
        const together = cost(price, {
          promptTokens: first.promptTokens + second.promptTokens,
          completionTokens: first.completionTokens + second.completionTokens,
        });
        return together <= apart && apart - together < 2n;
      }),
    );
  });

  it('is zero at a zero price and for no tokens', () => {
    fc.assert(fc.property(tokens, (count) => cost(priceOf('0', '0'), count) === 0n));
    fc.assert(fc.property(prices, (price) => cost(price, { promptTokens: 0, completionTokens: 0 }) === 0n));
  });

  it.each([-1, 0.5, Number.NaN, Number.POSITIVE_INFINITY, 2 ** 53])('does not count %s tokens', (count) => {
    const wrong = expect.objectContaining({ code: 'internal_error' });
    expect(() => cost(priceOf('1', '1'), { promptTokens: count, completionTokens: 0 })).toThrow(wrong);
    expect(() => cost(priceOf('1', '1'), { promptTokens: 0, completionTokens: count })).toThrow(wrong);
  });

  it('stays within the range of an amount', () => {
    const dearest = { inputPerMillion: nanoCredits(nanoCreditsMax), outputPerMillion: nanoCredits(0n) };
    expect(() => cost(dearest, { promptTokens: 1_000_001, completionTokens: 0 })).toThrow(
      expect.objectContaining({ code: 'internal_error' }),
    );
  });
});
