/** The few figures that stand for many samples. Each is NaN for none. */

export function quantile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;
}

/** Of an even number of values the mean of the two in the middle. */
export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const [low, high] = [sorted[Math.ceil(sorted.length / 2) - 1], sorted[Math.floor(sorted.length / 2)]];
  return ((low ?? Number.NaN) + (high ?? Number.NaN)) / 2;
}

export const least = (values: readonly number[]) => quantile(values, 0);
export const most = (values: readonly number[]) => quantile(values, 1);

/** `1.23`, `45.6`, `789`: three digits say all that a noisy machine knows. */
export function threeDigits(value: number): string {
  if (!Number.isFinite(value)) return '-';
  const digits = value === 0 ? 0 : Math.floor(Math.log10(Math.abs(value)));
  return value.toFixed(Math.max(0, Math.min(3, 2 - digits)));
}
