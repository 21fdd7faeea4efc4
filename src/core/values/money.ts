/** Money: whole nano-credits in `bigint`, never a float. Parsing, formatting and the cost of a request. */
import { ParleyError } from './errors.ts';

declare const nanoCreditsBrand: unique symbol;

/** An amount in units of 10^-9 credit. Negative amounts are adjustments that remove credits. */
export type NanoCredits = bigint & { readonly [nanoCreditsBrand]: never };

export const creditDecimals = 9;
export const nanoCreditsPerCredit = 1_000_000_000n;
/** Number of tokens to which a price refers. */
export const tokensPerPrice = 1_000_000n;
/** The largest absolute amount: that of a signed 64-bit column, some 9.2 billion credits. */
export const nanoCreditsMax = 2n ** 63n - 1n;

/** Prices in nano-credits per million tokens. */
export interface Price {
  readonly inputPerMillion: NanoCredits;
  readonly outputPerMillion: NanoCredits;
  /** Tokens of the prompt that the upstream read from its cache. Undefined: as other input. */
  readonly cachedInputPerMillion?: NanoCredits | undefined;
  /** Tokens of the prompt that the upstream wrote to its cache. Undefined: as other input. */
  readonly cacheWritePerMillion?: NanoCredits | undefined;
}

/** Whole numbers of tokens, 0 or more. */
export interface TokenCounts {
  readonly promptTokens: number;
  /** Includes reasoning tokens. */
  readonly completionTokens: number;
  /** The part of the prompt that the upstream read from its cache; undefined if it does not report it. */
  readonly cachedTokens?: number | undefined;
  /** Another part of the prompt, which the upstream wrote to its cache. */
  readonly cacheWriteTokens?: number | undefined;
}

/** Brands a number of nano-credits as an amount. @throws `internal_error` outside +-`nanoCreditsMax` */
export function nanoCredits(value: bigint): NanoCredits {
  if (!isAmount(value)) throw broken(`${value} nano-credits are outside the range of an amount`);
  return value;
}

const creditsPattern = /^(-?)(\d+)(?:\.(\d+))?$/;
/** Digits before the point, without leading zeros. More digits always exceed the largest amount. */
const wholeDigitsMax = 10;

/**
 * Parses an amount of credits such as `12`, `0.15` or `-3.000000001`, exactly. Accepts plain ASCII digits only: no
 * exponent, sign `+`, spaces or separators, and at most nine decimals.
 * @param param the parameter that has the text. Default: none
 * @throws `invalid_parameter`
 */
export function parseCredits(text: string, param?: string): NanoCredits {
  const [, sign, whole, decimals = ''] = creditsPattern.exec(text) ?? [];
  if (whole === undefined) {
    const form = 'write plain digits with a point for decimals, such as 0.15';
    throw refused(text, `is not an amount of credits: ${form}`, param);
  }
  if (decimals.length > creditDecimals) {
    const least = 'the smallest amount is 0.000000001 credits';
    throw refused(text, `has more than ${creditDecimals} decimals: ${least}`, param);
  }
  const significant = whole.replace(/^0+(?=\d)/, '');
  if (significant.length > wholeDigitsMax) throw tooLarge(text, param);
  const magnitude = BigInt(significant + decimals.padEnd(creditDecimals, '0'));
  const amount = sign === '-' ? -magnitude : magnitude;
  if (!isAmount(amount)) throw tooLarge(text, param);
  return amount;
}

/** Formats an amount in credits with no more decimals than needed: `0.15`, `12`, `-3.000000001`. */
export function formatCredits(amount: NanoCredits): string {
  const magnitude = amount < 0n ? -amount : amount;
  const whole = magnitude / nanoCreditsPerCredit;
  const decimals = (magnitude % nanoCreditsPerCredit)
    .toString()
    .padStart(creditDecimals, '0')
    .replace(/0+$/, '');
  return `${amount < 0n ? '-' : ''}${whole}${decimals === '' ? '' : `.${decimals}`}`;
}

/**
 * The cost of tokens: the exact sum of input and output, rounded up to a whole nano-credit once, at the end.
 * @throws `internal_error` for negative or fractional counts, as upstream reports are checked before
 */
export function cost(price: Price, tokens: TokenCounts): NanoCredits {
  const { inputPerMillion, outputPerMillion } = price;
  const { cachedInputPerMillion = inputPerMillion, cacheWritePerMillion = inputPerMillion } = price;
  const { promptTokens, completionTokens, cachedTokens = 0, cacheWriteTokens = 0 } = tokens;
  const plainTokens = promptTokens - cachedTokens - cacheWriteTokens;
  let exact = inputPerMillion * tokenCount(plainTokens) + outputPerMillion * tokenCount(completionTokens);
  if (cachedTokens !== 0) exact += cachedInputPerMillion * tokenCount(cachedTokens);
  if (cacheWriteTokens !== 0) exact += cacheWritePerMillion * tokenCount(cacheWriteTokens);
  return nanoCredits((exact + tokensPerPrice - 1n) / tokensPerPrice);
}

/** The highest price of the tokens, which no cost of them exceeds: only the upstream knows what its cache has. */
export function highestPrice({ outputPerMillion, ...prices }: Price): Price {
  let inputPerMillion = prices.inputPerMillion;
  for (const price of [prices.cachedInputPerMillion, prices.cacheWritePerMillion]) {
    if (price !== undefined && price > inputPerMillion) inputPerMillion = price;
  }
  return { inputPerMillion, outputPerMillion };
}

/** Prices in credits per million tokens. Those that are as the price of input are absent. */
export function priceTexts(price: Price) {
  const { cachedInputPerMillion: cachedInput, cacheWritePerMillion: cacheWrite } = price;
  return {
    input: formatCredits(price.inputPerMillion),
    output: formatCredits(price.outputPerMillion),
    ...(cachedInput !== undefined && { cachedInput: formatCredits(cachedInput) }),
    ...(cacheWrite !== undefined && { cacheWrite: formatCredits(cacheWrite) }),
  };
}

function tokenCount(count: number): bigint {
  if (!Number.isSafeInteger(count) || count < 0) throw broken(`${count} is not a count of tokens`);
  return BigInt(count);
}

function isAmount(value: bigint): value is NanoCredits {
  return -nanoCreditsMax <= value && value <= nanoCreditsMax;
}

function tooLarge(text: string, param: string | undefined): ParleyError {
  const most = nanoCreditsMax / nanoCreditsPerCredit;
  return refused(text, `is outside the range of an amount: at most ${most} credits`, param);
}

/** Shortens the text, which may be anything. */
function refused(text: string, why: string, param: string | undefined): ParleyError {
  const shown = text.length > 40 ? `${text.slice(0, 40)}…` : text;
  const message = `${JSON.stringify(shown)} ${why}.`;
  return new ParleyError('invalid_parameter', { message, ...(param !== undefined && { param }) });
}

/** A bug of this program, not a mistake of the caller. */
function broken(what: string): ParleyError {
  return new ParleyError('internal_error', { cause: new RangeError(what) });
}
