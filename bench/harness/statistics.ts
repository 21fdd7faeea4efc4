/** Statistics of samples. Each is NaN for an empty list. */
import type { Samples } from './result.ts';

export function quantile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;
}

export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const [low, high] = [sorted[Math.ceil(sorted.length / 2) - 1], sorted[Math.floor(sorted.length / 2)]];
  return ((low ?? Number.NaN) + (high ?? Number.NaN)) / 2;
}

export const least = (values: readonly number[]) => quantile(values, 0);
export const most = (values: readonly number[]) => quantile(values, 1);

export interface Ratio {
  readonly median: number;
  readonly least: number;
  readonly most: number;
}

/** Divides Parley's sample by the yardstick's in each round, so that a slow moment of the machine affects both. */
export function ratioOf({ ours, theirs }: Samples): Ratio {
  const ratios = ours.map((value, round) => value / (theirs[round] ?? Number.NaN));
  return spreadOf(ratios);
}

export function spreadOf(values: readonly number[]): Ratio {
  return { median: median(values), least: least(values), most: most(values) };
}

/** Three significant digits: `1.23`, `45.6`, `789`. */
export function threeDigits(value: number): string {
  if (!Number.isFinite(value)) return '-';
  const digits = value === 0 ? 0 : Math.floor(Math.log10(Math.abs(value)));
  return value.toFixed(Math.max(0, Math.min(3, 2 - digits)));
}
