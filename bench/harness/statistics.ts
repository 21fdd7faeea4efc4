/** The few figures that stand for many samples. Each is NaN for none. */

export function quantile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;
}

export const median = (values: readonly number[]) => quantile(values, 0.5);
export const least = (values: readonly number[]) => quantile(values, 0);
export const most = (values: readonly number[]) => quantile(values, 1);

/** `1.23`, `45.6`, `789`: three digits say all that a noisy machine knows. */
export function threeDigits(value: number): string {
  if (!Number.isFinite(value)) return '-';
  const digits = value === 0 ? 0 : Math.floor(Math.log10(Math.abs(value)));
  return value.toFixed(Math.max(0, Math.min(3, 2 - digits)));
}
